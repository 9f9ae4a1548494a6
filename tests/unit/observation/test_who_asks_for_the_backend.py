"""Which backend Keras computes with is asked where it is chosen, and where a call is refused."""

from __future__ import annotations

import re
from pathlib import Path

import keras_perf

CHOOSE = {"backends/chosen.py", "trials/backends/chosen.py"}
REFUSE = {
    "loop/monitor.py",
    "running/calls.py",
    "running/fits.py",
    "trials/arguments.py",
}
HAND_ON = {"trials/batch_sizes/handed_over.py"}
"""To a process of its own."""

ASKS = re.compile(r"\b(keras|config)\.(backend\.)?backend\(\)")
BRANCHES = re.compile(r"""backend\w* [!=]= ["'](tensorflow|jax)["']""")


def test_nobody_else_asks_for_it_or_branches_on_its_name():
    folder = Path(keras_perf.__file__).parent
    modules = {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*.py")
    }
    assert {name for name, text in modules.items() if ASKS.search(text)} == {
        *CHOOSE,
        *REFUSE,
        *HAND_ON,
    }
    assert {name for name, text in modules.items() if BRANCHES.search(text)} <= CHOOSE | REFUSE
