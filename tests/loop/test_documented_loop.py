"""The page's loop runs as it stands, and other numbers of steps per call can be tried in it."""

from __future__ import annotations

import re
from pathlib import Path

import tensorflow as tf
import watched_loops

PAGE = Path(__file__).parents[2] / "docs" / "custom_loop.md"
MANY, OFTEN = "10_000", "1_000"


def test_the_page_s_loop_lets_other_numbers_of_steps_be_tried(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [program] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    assert program.count(MANY) == 2
    shorter = program.replace(MANY, "4_000").replace(OFTEN, "2_000")
    watched, evaluated = watched_loops.Loop(), []
    names = {
        "tf": tf,
        "model": watched.model,
        "train_steps": watched.function,
        "iterator": iter(watched_loops.dataset()),
        "step": 0,
        "evaluate": lambda: evaluated.append(True),
    }
    exec(compile(shorter, str(PAGE), "exec"), names)
    assert (names["step"], len(evaluated)) == (4000, 2)
    recommendation = names["monitor"].recommendation
    assert recommendation.evidence["trial_executions"] > 0
