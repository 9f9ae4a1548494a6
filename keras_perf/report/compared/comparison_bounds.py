"""What the bounds of a comparison rest on, and what they do not count."""

from __future__ import annotations

import math
from collections.abc import Iterator

from keras_perf.analyse.change import Change
from keras_perf.analyse.cpu_share import NOTICED, used_by_strangers
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_percent
from keras_perf.report.diagnosis import Diagnosis

FEW_INTERVALS = 8
"""Bounds from fewer intervals than these are too narrow: chance has hardly shown itself yet."""

TOO_WIDE = 10.0
"""An upper bound that is more than this many times the lower one tells nothing as a figure."""


def not_as_it_seems(before: Diagnosis, after: Diagnosis) -> Iterator[str]:
    """Of each run a sentence if it did not end well, and one if there is a newer one."""
    same = before.summary.intervals.equals(after.summary.intervals)
    if same and before.summary.facts == after.summary.facts:
        yield (
            "Before and after are the same fit, the newest of its directory: of another one in it, "
            "name the event file."
        )
    for name, run in (("Before", before), ("After", after)):
        yield from (f"{name}: {each}" for each in (*run.ending, *run.newer))


def about_bounds(
    before: Summary, after: Summary, change: Change, timed: str, bounds: tuple[float, float]
) -> Iterator[str]:
    """Sentences, or "", on what the bounds rest on."""
    yield few_intervals(before, after)
    yield may_be_chance(change, timed, bounds)
    yield unequal_load(before, after)


def few_intervals(before: Summary, after: Summary) -> str:
    """A sentence where the runs are short; "" elsewhere."""
    counts = len(before.intervals), len(after.intervals)
    if min(counts) >= FEW_INTERVALS:
        return ""
    return (
        f"The bounds rest on {counts[0]} intervals of training before and {counts[1]} after, "
        "too few to show all of chance: train longer for bounds that hold."
    )


def may_be_chance(change: Change, timed: str, bounds: tuple[float, float]) -> str:
    """A sentence where the bounds leave 1 out, and slow changes could explain it; "" elsewhere."""
    low, high = bounds
    if low <= 1.0 <= high or change.word or math.isnan(change.low):
        return ""
    told = "too little was measured to tell: train longer"
    if change.high <= TOO_WIDE * change.low:
        told = f"{timed} is {1 / change.high:.2f} to {1 / change.low:.2f}× as fast as before"
    return (
        "It may still be chance: counting that intervals close in time resemble each other, "
        f"{told}."
    )


def unequal_load(before: Summary, after: Summary) -> str:
    """A sentence where other processes used the CPUs in one of the runs; "" elsewhere."""
    busy = [used_by_strangers(run) for run in (before, after)]
    if max(busy) <= NOTICED:
        return ""
    return (
        f"Other processes used {in_percent(busy[0])} of the CPUs before and "
        f"{in_percent(busy[1])} after, which the bounds do not count: repeat both runs on a "
        "quiet machine."
    )
