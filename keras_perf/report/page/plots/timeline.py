"""The steps of a run, as many of them as a screen can show at once: what a timeline draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from keras_perf.analyse.of_intervals.epoch_begins import as_measured
from keras_perf.records.interval import PARTS, part_name
from keras_perf.records.run.capture import Capture
from keras_perf.records.run.times.outlier import CAUSES, Cause, Outlier, cause_name
from keras_perf.records.text.visible import visible
from keras_perf.report.run_report import RunReport

CAUSE_MARKS = {
    Cause.RETRACE: ("#0c9a72", "s"),
    Cause.RECOMPILE: ("#0c9a72", "D"),
    Cause.GARBAGE: ("#7f7f7f", "P"),
    Cause.CALLBACK: ("#b8860b", "^"),
    Cause.CHECKPOINT: ("#b8860b", "v"),
    Cause.VALIDATION: ("#b86399", "*"),
    Cause.SHUFFLE: ("#d55e00", "<"),
    Cause.ITERATOR: ("#d55e00", ">"),
    Cause.INPUT: ("#d55e00", "o"),
    Cause.UNKNOWN: ("#7f7f7f", "X"),
}
"""Colour of the part that the cause belongs to, and a shape that no other cause has."""

MOST_COLUMNS = 2000
MOST_OUTLIERS = 200
"""Of more in a stretch of steps, the longest are shown, and how many there are is told."""

DIGITS = 4
"""Of a millisecond: what was logged has no more than seven in all."""

TraceOf = Callable[[Capture], str | None]
Figures = NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """Intervals and outliers of a run, ready to be cut.

    Attributes:
        first, last: the steps between which there is something to show.
        begin, end: of each interval; it holds the steps after `begin` and up to `end`.
        steps: those of them that were measured.
        step_ms: their mean.
        parts: means of what a step consists of; NaN where it was not measured.
        outliers: by step; `usual_ms` is NaN where only the excess is known, 0 where none is usual.
        captures: by step.
    """

    first: int
    last: int
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    steps: Figures
    step_ms: Figures
    parts: dict[str, Figures]
    outliers: tuple[Outlier, ...]
    captures: tuple[Capture, ...]

    def between(
        self, first: int, last: int, columns: int, trace_of: TraceOf | None
    ) -> dict[str, Any]:
        """What lies between two steps, as JSON has it; `tests/tab/schemas/steps.json` says how.

        Arguments:
            first: a step.
            last: a later one.
            columns: how many can be told apart on the screen. Where there are more intervals,
                several make one column, which keeps the least, the mean and the most of them.
            trace_of: a capture's trace, as the Profile tab calls it; None where no such tab is.
        """
        trace = trace_of or (lambda _: None)
        begin = int(np.searchsorted(self.end, first, side="right"))
        end = int(np.searchsorted(self.begin, last, side="left"))
        count = max(end - begin, 0)
        shown = min(count, columns, MOST_COLUMNS)
        groups = begin + np.arange(shown) * count // max(shown, 1)
        captured = [each for each in self.captures if _meets(each, first, last)]
        outliers = [each for each in self.outliers if first <= each.step <= last]
        worst = sorted(outliers, key=lambda each: -each.excess_ms)[:MOST_OUTLIERS]
        return {
            "first": self.first,
            "last": self.last,
            "from": first,
            "to": last,
            "intervals": count,
            "exact": shown == count,
            "profile": trace_of is not None,
            "columns": self._columns(groups, end),
            "names": {part: part_name(part) for part in self.parts},
            "outliers_in_range": len(outliers),
            "outliers": [
                self._outlier(each, trace) for each in sorted(worst, key=lambda each: each.step)
            ],
            "captures": [_capture(each, trace) for each in captured],
        }

    def _columns(self, groups: NDArray[np.int64], end: int) -> dict[str, Any]:
        """A list for each figure of a column; `parts` has one for each part."""
        if not len(groups):
            return {**{name: [] for name in COLUMNS}, "parts": {}}
        ends = np.append(groups[1:], end)
        least, most = (_reduced(by, self.step_ms, groups, end) for by in (np.minimum, np.maximum))
        longest = [
            int(self.end[low + np.argmax(self.step_ms[low:high])])
            for low, high in zip(groups.tolist(), ends.tolist(), strict=True)
        ]
        means = {
            name: self._mean(values, groups, end)
            for name, values in {"step": self.step_ms, **self.parts}.items()
        }
        step = means.pop("step")
        return {
            "begin": self.begin[groups].tolist(),
            "end": self.end[ends - 1].tolist(),
            "mean": step,
            "least": _rounded(least),
            "most": _rounded(most),
            "longest_at": longest,
            "parts": means,
        }

    def _mean(self, values: Figures, groups: NDArray[np.int64], end: int) -> list[float | None]:
        """Over the steps in which it was measured."""
        known = np.isfinite(values)
        steps = np.where(known, self.steps, 0.0)
        sums = _reduced(np.add, np.where(known, self.steps * values, 0.0), groups, end)
        counts = _reduced(np.add, steps, groups, end)
        means = np.full(len(groups), np.nan)
        return _rounded(np.divide(sums, counts, out=means, where=counts > 0))

    def _outlier(self, event: Outlier, trace_of: TraceOf) -> dict[str, Any]:
        within = (each for each in self.captures if each.first_step <= event.step < each.last_step)
        traces = (trace_of(each) for each in within)
        colour, shape = CAUSE_MARKS[event.cause]
        return {
            "step": event.step,
            "cause": cause_name(event.cause.value),
            "mark": {"colour": colour, "shape": shape},
            "meaning": CAUSES[event.cause],
            "owner": visible(event.owner),
            "excess_ms": round(event.excess_ms, DIGITS),
            "usual_ms": round(event.usual_ms, DIGITS) if event.usual_ms > 0 else None,
            "trace": next((trace for trace in traces if trace is not None), None),
        }


COLUMNS = ("begin", "end", "mean", "least", "most", "longest_at")


def timeline_of(report: RunReport) -> Timeline:
    """The whole run's."""
    intervals = as_measured(report.summary.intervals)
    end = intervals.index.to_numpy(dtype=np.int64)
    steps = intervals["steps"].to_numpy(dtype=float)
    outliers = _outliers(report)
    captures = tuple(sorted(report.summary.facts.captures, key=lambda each: each.first_step))
    begin = end - steps.astype(np.int64)
    first, last = span_of(report)
    return Timeline(
        first=first,
        last=last,
        begin=begin,
        end=end,
        steps=steps,
        step_ms=intervals["step"].to_numpy(dtype=float),
        parts={
            part: intervals[part].to_numpy(dtype=float)
            for part in PARTS
            if part in intervals and (intervals[part] > 0).any()
        },
        outliers=outliers,
        captures=captures,
    )


def span_of(report: RunReport) -> tuple[int, int]:
    """All that is known of the run lies within; it is of all that is drawn over the steps."""
    facts, intervals = report.summary.facts, report.summary.intervals
    steps = [event.step for event in report.events]
    steps += [step for each in facts.captures for step in (each.first_step, each.last_step)]
    if len(report.scalars):
        logged = report.scalars["step"]
        steps += [int(logged.min()), int(logged.max())]
    if len(intervals):
        steps.append(int(intervals.index[0] - intervals["steps"].iloc[0]))
    if facts.length.first_step is not None:
        steps.append(facts.length.first_step)
    first = min(steps, default=0)
    return first, max([*steps, first + 1])


def _outliers(report: RunReport) -> tuple[Outlier, ...]:
    """Those that the run's record has, with owners, and all others as they were logged."""
    told = {(event.step, event.cause): event for event in report.events}
    for cause in Cause:
        rows = report.scalars[report.scalars["tag"] == cause.tag]
        for step, ms in zip(rows["step"].tolist(), rows["value"].tolist(), strict=True):
            told.setdefault((step, cause), Outlier(step, cause, "", ms, float("nan")))
    return tuple(sorted(told.values(), key=lambda event: event.step))


def _meets(capture: Capture, first: int, last: int) -> bool:
    return capture.first_step <= last and capture.last_step >= first


def _capture(capture: Capture, trace_of: TraceOf) -> dict[str, Any]:
    return {
        "first": capture.first_step,
        "last": capture.last_step,
        "reason": visible(capture.reason),
        "trace": trace_of(capture),
    }


def _reduced(by: np.ufunc, values: Figures, groups: NDArray[np.int64], end: int) -> Figures:
    reduced: Figures = by.reduceat(values[:end], groups)
    return reduced


def _rounded(values: pd.Series | Figures) -> list[float | None]:
    rounded = np.round(np.asarray(values, dtype=float), DIGITS).tolist()
    return [value if np.isfinite(value) else None for value in rounded]
