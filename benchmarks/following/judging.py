"""Whether a verdict is right, and by what that is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import tensorflow as tf
from followed_programs.program import Program

import keras_perf as kp

CLEARLY = 2.0
"""Where input or step alone takes so many times as long as the other, it sets the pace."""

BATCHES = 60
WAITED_FOR = 1.05
"""A step that takes so many times what it takes alone may be waiting for its input."""

MOST_BATCHES = 5000
"""Of an endless pipeline so many fill its cache."""

OF_THE_STEP = ("compute-bound", "dispatch-bound", "inconclusive")
OF_EITHER = ("input-bound", *OF_THE_STEP)


@dataclass(frozen=True)
class Judged:
    """What is known of a verdict.

    Attributes:
        right: None where nothing tells.
        known_by: the longer of the two alone; that neither is clearly longer; a callback.
        input_ms, step_ms: input and step alone; None where not measured.
    """

    right: bool | None
    known_by: str | None = None
    input_ms: float | None = None
    step_ms: float | None = None

    @property
    def cells(self) -> dict[str, Any]:
        """Of a row."""
        return {
            "right": self.right,
            "known_by": self.known_by,
            "input_alone_ms": self.input_ms,
            "step_alone_ms": self.step_ms,
        }


def judged_first(program: Program, found: kp.Diagnosis) -> Judged:
    """Of the program as it is: its bottleneck was put there, or is measured."""
    verdict = found.verdict
    if program.verdicts:
        return Judged(verdict in program.verdicts, "put there")
    if verdict == "callback-bound":
        return Judged(bool(program.works), "its callbacks")
    return _compared(verdict, *alone(program))


def judged_later(program: Program, found: kp.Diagnosis) -> Judged:
    """Of a program in which advice was followed: only where input or step is clearly longer.

    An input that is quicker than the step may still be waited for, by a part of each step.
    """
    verdict = found.verdict
    if program.compiled.get("run_eagerly"):
        return Judged(verdict == "eager-bound", "run eagerly")
    if verdict not in ("input-bound", "compute-bound", "dispatch-bound"):
        return Judged(None)
    if not isinstance(program.dataset(), tf.data.Dataset):
        return Judged(None)
    judged = _compared(verdict, *alone(program))
    waits = found.summary.step_ms > WAITED_FOR * (judged.step_ms or 0.0)
    unsure = judged.known_by == "step" and verdict == "input-bound" and waits
    return replace(judged, right=None) if unsure or judged.known_by == "either" else judged


def _compared(verdict: str, input_ms: float, step_ms: float) -> Judged:
    if input_ms > CLEARLY * step_ms:
        return Judged(verdict == "input-bound", "input", input_ms, step_ms)
    if step_ms > CLEARLY * input_ms:
        return Judged(verdict in OF_THE_STEP, "step", input_ms, step_ms)
    return Judged(verdict in OF_EITHER, "either", input_ms, step_ms)


def alone(program: Program) -> tuple[float, float]:
    """Milliseconds of a batch that nothing waits for, and of a step whose batch is ready."""
    data = program.dataset()
    if any(stage.kind == "cache" for stage in program.stages):
        # A cache is filled once its data have ended.
        for _ in islice(data, MOST_BATCHES):
            pass
    made = kp.benchmark_input_pipeline(data, batches=BATCHES)["batch_ms"].median()
    trained = kp.benchmark_train_step(program.made(), next(iter(data)), steps=BATCHES)
    return float(made), float(trained["step_ms"].median())
