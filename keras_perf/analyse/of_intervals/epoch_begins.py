"""Waits at epochs' begins, counted as often as a training has them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.times.outlier import Cause, Outlier

AT_BEGINS = (Cause.SHUFFLE, Cause.ITERATOR)
"""Causes of what is long once an epoch."""


def steps_after_warmup(facts: RunFacts, measured: int) -> int:
    """Steps that a training had then, with those of trials and captures.

    Arguments:
        facts: of the training.
        measured: steps that are in its figures; there are no fewer.
    """
    warmup = 0 if facts.outside is None else facts.outside.warmup_steps
    return max(measured, facts.length.steps - warmup)


def counted_as_they_come(intervals: pd.DataFrame, facts: RunFacts) -> pd.DataFrame:
    """Intervals in which what comes once an epoch counts by the share of steps that are measured.

    Trials and captures leave out steps amid epochs, and seldom those that begin one: of these
    there are more among the measured steps than in the training. Of a wait that was long against
    usual ones only that share is left, in the wait for input and in the step.

    Arguments:
        intervals: as in `Summary.intervals`, as they were measured.
        facts: of the training; of its outliers, those that are named one by one count so.

    What it cannot see: a first step that takes longer than usual ones, and not far longer.
    """
    begins = [event for event in facts.outliers.events if _in_step(event)]
    if not begins or "input_wait" not in intervals or not len(intervals):
        return intervals
    measured = int(intervals["steps"].sum())
    left_out = 1.0 - measured / steps_after_warmup(facts, measured)
    long_ms = np.zeros(len(intervals))
    rows = np.searchsorted(intervals.index.to_numpy(), [e.step for e in begins], side="right")
    for row, event in zip(rows, begins, strict=True):
        if row < len(long_ms):
            long_ms[row] += event.excess_ms
    excess = (long_ms * left_out / intervals["steps"]).clip(upper=intervals["input_wait"])
    counted = intervals.copy()
    counted[["step", "input_wait"]] = counted[["step", "input_wait"]].sub(excess, axis=0)
    return counted


def _in_step(event: Outlier) -> bool:
    """Not in the pause before one, of which nothing is usual."""
    return event.cause in AT_BEGINS and event.usual_ms > 0
