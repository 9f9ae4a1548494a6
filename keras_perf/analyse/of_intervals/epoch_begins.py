"""Waits at epochs' begins, counted as often as a training has them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.times.outlier import Cause

AT_BEGINS = (Cause.SHUFFLE, Cause.ITERATOR)
"""Causes of what is long once an epoch."""

LESS = "less"
"""The column of intervals with what `counted_as_they_come` has taken off, in ms a step."""


def steps_after_warmup(facts: RunFacts, intervals: pd.DataFrame) -> int:
    """Steps that a training had then, with those of trials and captures.

    Arguments:
        facts: of the training; those of one that runs are older than its newest interval.
        intervals: as in `Summary.intervals`.

    Where it is not known, those that are in its figures.
    """
    measured, length = int(intervals["steps"].sum()), facts.length
    if facts.outside is None or not length.steps or length.first_step is None:
        return measured
    last = max(length.last_step or 0, int(intervals.index[-1])) if len(intervals) else 0
    return max(measured, last - length.first_step - facts.outside.warmup_steps)


def begins_for_one(facts: RunFacts) -> float:
    """How many epochs began for each whose first step no capture holds; 1 where none does.

    Those of the warm-up are left out: so is the first one, always.
    """
    length, outside = facts.length, facts.outside
    each, first, last = length.epoch_steps, length.first_step, length.last_step
    if not facts.captures or outside is None or not each or first is None or last is None:
        return 1.0
    begins = [step for step in range(first, last, each) if step >= first + outside.warmup_steps]
    held = [(capture.first_step, capture.last_step) for capture in facts.captures]
    known = [step for step in begins if not any(begin <= step < end for begin, end in held)]
    return len(begins) / len(known) if known else 1.0


def counted_as_they_come(
    intervals: pd.DataFrame, facts: RunFacts, refills: pd.Series | None
) -> pd.DataFrame:
    """Intervals in which what comes once an epoch counts as often as in the training.

    Trials leave out steps amid epochs and never those that begin one, captures leave out either:
    of these there are more among the measured steps than in the training, or fewer. A wait that
    was long against usual ones counts less for that, or more, in the wait for input and in the
    step; `LESS` has by how much less.

    Arguments:
        intervals: as in `Summary.intervals`, as they were measured.
        facts: of the training; of its new iterators those count so that it names one by one.
        refills: how many ms each of a shuffle was too long, by its step; None if there was none.

    What it cannot see: whether a begin that was captured waited as the others did; a first step
    that takes longer than usual ones, and not far longer.
    """
    known = pd.Series(dtype=float) if refills is None else refills.dropna()
    begins = list(zip(known.index.tolist(), known.tolist(), strict=True))
    begins += [
        (event.step, event.excess_ms)
        for event in facts.outliers.events
        # Of the pause before an epoch nothing is usual: it is no part of a step.
        if event.cause is Cause.ITERATOR and event.usual_ms > 0
    ]
    if not begins or "input_wait" not in intervals or not len(intervals):
        return intervals
    measured = float(intervals["steps"].sum()) / steps_after_warmup(facts, intervals)
    left_out = 1.0 - measured * begins_for_one(facts)
    long_ms = np.zeros(len(intervals))
    steps = [step for step, _ in begins]
    rows = np.searchsorted(intervals.index.to_numpy(), steps, side="right")
    for row, (_, excess_ms) in zip(rows, begins, strict=True):
        if row < len(long_ms):
            long_ms[row] += excess_ms
    less = (long_ms * left_out / intervals["steps"]).clip(upper=intervals["input_wait"].fillna(0.0))
    return _with(intervals, -less).assign(**{LESS: less})


def as_measured(intervals: pd.DataFrame) -> pd.DataFrame:
    """Intervals as they were logged."""
    return _with(intervals, intervals[LESS]) if LESS in intervals else intervals


def _with(intervals: pd.DataFrame, more: pd.Series) -> pd.DataFrame:
    """With so many ms more in a step, and in its wait for input."""
    found = intervals.copy()
    found[["step", "input_wait"]] = found[["step", "input_wait"]].add(more, axis=0)
    return found
