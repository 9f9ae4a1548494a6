"""Whether a verdict is right, and by what that is known."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import tensorflow as tf
from followed_programs.program import Program

import keras_perf as kp
from keras_perf.advise.gains.of_a_part import WORTHWHILE

CLEARLY = 2.0
"""Where input or step alone takes so many times as long as the other, it sets the pace."""

LEAST_MS, LEAST_BATCHES, MOST_BATCHES = 200.0, 60, 2000
"""A round of the input alone, or of the step, takes about so long."""

WAITED_FOR = 1.05
"""A step that takes so many times what it takes alone may be waiting for its input."""

ROUNDS = 3
"""Trainings with callbacks, and without."""

DISTURBED = 1.25
"""Nothing takes longer alone than in training: where it took so many times as long, something else
ran on the machine."""

PASS = 5000
"""Batches of an endless pipeline that are enough to fill its cache."""

OF_THE_STEP = ("compute-bound", "dispatch-bound", "inconclusive")
OF_EITHER = ("input-bound", *OF_THE_STEP)


@dataclass(frozen=True)
class Judged:
    """What is known of a verdict.

    Attributes:
        right: None where nothing tells.
        known_by: that it was put there; the longer of input and step alone, or that neither is
            clearly longer; a training without callbacks.
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
        gain = gain_without_callbacks(program)
        return Judged(gain >= WORTHWHILE, f"without callbacks {gain:.2f}×")
    return _compared(verdict, *alone(program, found.summary.step_ms))


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
    step_ms = found.summary.step_ms
    judged = _compared(verdict, *alone(program, step_ms))
    longest_ms = max(judged.input_ms or 0.0, judged.step_ms or 0.0)
    waits = step_ms > WAITED_FOR * (judged.step_ms or 0.0)
    unknown = (
        judged.known_by == "either"
        or (judged.known_by == "step" and verdict == "input-bound" and waits)
        or longest_ms > DISTURBED * step_ms
    )
    return replace(judged, right=None) if unknown else judged


def _compared(verdict: str, input_ms: float, step_ms: float) -> Judged:
    if input_ms > CLEARLY * step_ms:
        return Judged(verdict == "input-bound", "input", input_ms, step_ms)
    if step_ms > CLEARLY * input_ms:
        return Judged(verdict in OF_THE_STEP, "step", input_ms, step_ms)
    return Judged(verdict in OF_EITHER, "either", input_ms, step_ms)


def gain_without_callbacks(program: Program) -> float:
    """How many times as long the whole training takes with its callbacks as without.

    Each is trained some times, in turn: the quickest is disturbed least.
    """
    both = program, replace(program, works=())
    rounds = [[_training_s(each) for each in both] for _ in range(ROUNDS)]
    with_s, without_s = map(min, zip(*rounds, strict=True))
    return with_s / without_s


def _training_s(program: Program) -> float:
    begin = time.perf_counter()
    program.train([])
    return time.perf_counter() - begin


def alone(program: Program, step_ms: float) -> tuple[float, float]:
    """Milliseconds of a batch that nothing waits for, and of a step whose batch is ready.

    Arguments:
        program: its dataset and model are made anew.
        step_ms: of its steps in training.
    """
    number = LEAST_BATCHES
    if step_ms > 0:
        number = int(min(MOST_BATCHES, max(LEAST_BATCHES, LEAST_MS / step_ms)))
    data = program.dataset()
    if any(stage.kind == "cache" for stage in program.stages):
        # A cache is filled once its data have ended.
        for _ in islice(data, PASS):
            pass
    made = kp.benchmark_input_pipeline(data, batches=number)["batch_ms"].median()
    trained = kp.benchmark_train_step(program.made(), next(iter(data)), steps=number)
    return float(made), float(trained["step_ms"].median())
