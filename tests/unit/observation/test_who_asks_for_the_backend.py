"""Which backend Keras computes with is asked where it is chosen, and where a call is refused."""

from __future__ import annotations

import ast
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
OF_OTHER_THINGS = {
    "files/file_systems.py",
    "observation/facts/hooks/held_data.py",
    "records/text/without_tensorflow.py",
}
"""What was imported, of which library an array is, and what was not found."""

ASKS = re.compile(r"\b(keras|config)\.(backend\.)?backend\(\)")
NAMES = {"tensorflow", "jax", "TensorFlow", "JAX"}

FOLDER = Path(keras_perf.__file__).parent
MODULES = {
    path.relative_to(FOLDER).as_posix(): path.read_text("utf-8") for path in FOLDER.rglob("*.py")
}


def compares_names(text):
    """Whether anything is compared with a backend's name, or looked for by it."""
    return any(
        isinstance(side, ast.Constant) and side.value in NAMES
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        for compared in (node.left, *node.comparators)
        for side in (compared, *getattr(compared, "elts", ()))
    )


def test_nobody_else_asks_for_it():
    found = {name for name, text in MODULES.items() if ASKS.search(text)}
    assert found == {*CHOOSE, *REFUSE, *HAND_ON}


def test_nobody_else_branches_on_its_name():
    found = {name for name, text in MODULES.items() if compares_names(text)}
    assert found - OF_OTHER_THINGS <= CHOOSE | REFUSE
    assert found >= CHOOSE | OF_OTHER_THINGS
