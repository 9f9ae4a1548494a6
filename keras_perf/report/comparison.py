"""compare: what a change bought."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pandas as pd

from keras_perf.analyse.resampling import speedup_interval
from keras_perf.records.interval import PARTS
from keras_perf.report.diagnosis import Diagnosis, diagnose
from keras_perf.report.tables import markdown_table, text_table


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        speedup: how many times as fast `after` is, per example where both runs know their
            batch size, else per step.
        low, high: 90 % interval of it, from resampling the runs' intervals.
        before, after: their diagnoses.
    """

    speedup: float
    low: float
    high: float
    before: Diagnosis = field(repr=False)
    after: Diagnosis = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """A row a part and one for the step: `part`, `before_ms`, `after_ms`, `saved_ms`."""
        rows = [(p, self.before.breakdown[p], self.after.breakdown[p]) for p in (*PARTS, "step")]
        frame = pd.DataFrame(rows, columns=["part", "before_ms", "after_ms"])
        return frame.assign(saved_ms=frame["before_ms"] - frame["after_ms"])

    def to_markdown(self) -> str:
        """For TensorBoard, an issue, a chat."""
        return f"## {self._headline()}\n\n{markdown_table(*self._table())}\n\n{self._taken()}\n"

    def __str__(self) -> str:
        """For a terminal."""
        return f"{self._headline()}\n\n{text_table(*self._table())}\n\n{self._taken()}\n"

    def _headline(self) -> str:
        return (
            f"{self.speedup:.2f}× as fast ({self.low:.2f}–{self.high:.2f}): "
            f"{self.before.verdict} before, {self.after.verdict} after"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        frame = self.to_frame()
        figures = zip(frame["before_ms"], frame["after_ms"], frame["saved_ms"], strict=True)
        rows = [
            [str(part).replace("_", " "), *(f"{ms:.3f}" for ms in row)]
            for part, row in zip(frame["part"], figures, strict=True)
        ]
        return ["part of a step", "before ms", "after ms", "saved ms"], rows

    def _taken(self) -> str:
        """Predicted beside measured, if the advice of `before` is no longer given."""
        if not self.before.recommendations:
            return "No change had been recommended."
        still = {advice.id for advice in self.after.recommendations}
        left = [a.id for a in self.before.recommendations if a.id in still]
        expected, low, high = self.before.combined_speedup
        text = (
            f"Predicted for all recommendations together: {expected:.2f}× "
            f"({low:.2f}–{high:.2f}); measured: {self.speedup:.2f}×."
        )
        return text + (f" Still recommended: {', '.join(left)}." if left else "")


def compare(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> Comparison:
    """How much faster the newest `fit` under `after` is than that under `before`.

    Arguments:
        before: log directory of the earlier run.
        after: log directory of the later one.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
        ValueError: a directory holds several runs, or a run measured no step.

    What it cannot see: whether the machine was equally busy in both.
    """
    first, second = diagnose(before), diagnose(after)
    for name, path, diagnosis in (("before", before, first), ("after", after, second)):
        if not diagnosis.summary.steps:
            raise ValueError(
                f"{name} must hold a run with measured steps, {os.fspath(path)!r} has none: "
                f"{diagnosis.explanation}"
            )
    examples = first.summary.examples_per_step, second.summary.examples_per_step
    per_example = 1.0
    if examples[0] and examples[1]:
        per_example = examples[1] / examples[0]
    low, high = speedup_interval(first.summary.intervals, second.summary.intervals)
    speedup = first.summary.step_ms / second.summary.step_ms
    return Comparison(speedup * per_example, low * per_example, high * per_example, first, second)
