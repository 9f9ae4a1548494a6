"""Whether a step takes longer than before, or chance made it look so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from keras_perf.analyse.summary import Summary

BATCHES = 6
PER_BATCH = 4
"""Intervals in a batch, at least, if there are as many."""
FEWEST = 3
"""Batches, and intervals, without which chance cannot be told."""

MOST_AWAY = 1000.0
"""A bound is no more than so many times the ratio away: beyond it all is chance."""

RESEMBLING = 4.25
"""By so much the variance of a mean of three is more than the three tell, where each resembles the
one before by 0.6, as those of equal trainings did: (1 + 2 r) / (1 - r), where two of them have
r = (2 · 0.6 + 0.6²) / 3 in common on average."""

SAME_SIZE = 0.005
"""Batches whose means differ by less were of one size."""

CHANCE = 0.01
"""How often a change is above the upper bound, or below the lower one, by chance."""


@dataclass(frozen=True)
class Change:
    """How many times as long a step takes as before.

    Attributes:
        ratio: above 1 is slower.
        low, high: 98% interval of it; NaN where there are too few intervals to tell.
    """

    ratio: float
    low: float
    high: float

    def exceeds(self, tolerance: float) -> bool | None:
        """Whether a step is slower by more than this share; None where that may be chance."""
        if self.low > 1.0 + tolerance:
            return True
        return False if self.high <= 1.0 + tolerance else None

    @property
    def word(self) -> str:
        """`slower` or `faster`; "" where it may be chance."""
        if self.low > 1.0:
            return "slower"
        return "faster" if self.high < 1.0 else ""


def step_change(before: pd.DataFrame, after: pd.DataFrame, examples: float = 1.0) -> Change:
    """The change of the mean step from one run to another.

    Arguments:
        before: as in `Summary.intervals`, at least one.
        after: of the later run.
        examples: examples a step of the later run over those of the earlier, to compare the
            time per example.

    Intervals close in time resemble each other, so that more of them tell less than it seems: a
    run is cut into at most six batches, whose means are almost independent, and these are compared
    by Welch's t-test of the logarithms (source: Schmeiser, Batch size effects in the analysis of
    simulation output, Operations Research 30, 1982). The bounds hold where intervals resemble
    each other for a few seconds. Of few intervals the batches are short, and their means are taken
    for as alike as those of neighbours: only what is far slower is found then.

    What it cannot see: what differs from run to run, such as another load on the machine.
    """
    runs = [_Mean.of(intervals) for intervals in (before, after)]
    ratio = runs[1].mean / runs[0].mean / examples
    if min(run.batches for run in runs) < FEWEST:
        return Change(ratio, math.nan, math.nan)
    variance = sum(run.variance for run in runs)
    far = _times_deviation(runs) * math.sqrt(variance) if variance else 0.0
    away = math.exp(min(far, math.log(MOST_AWAY)))
    return Change(ratio, ratio / away, ratio * away)


def summary_change(before: Summary, after: Summary) -> Change:
    """The same of two runs with measured steps, per example where both know their batch size."""
    return step_change(before.intervals, after.intervals, examples_ratio(before, after))


def of_one_size(before: Summary, after: Summary) -> bool:
    """Batches of both have about as many examples; an epoch's last one may have fewer."""
    return abs(examples_ratio(before, after) - 1) < SAME_SIZE


def examples_ratio(before: Summary, after: Summary) -> float:
    """Examples a step of the later run over those of the earlier; 1 where they are not known."""
    if before.examples_per_step and after.examples_per_step:
        return after.examples_per_step / before.examples_per_step
    return 1.0


@dataclass(frozen=True)
class _Mean:
    """A run's mean step, with the variance of its logarithm as the batches tell it."""

    mean: float
    variance: float
    batches: int

    @classmethod
    def of(cls, intervals: pd.DataFrame) -> _Mean:
        steps, ms = (intervals[name].to_numpy(dtype=float) for name in ("steps", "step"))
        mean = float(np.average(ms, weights=steps))
        batches, resembling = min(BATCHES, len(ms) // PER_BATCH), 1.0
        if batches < FEWEST:
            batches, resembling = min(FEWEST, len(ms)), RESEMBLING
        if batches < FEWEST:
            return cls(mean, math.nan, batches)
        parts = zip(np.array_split(ms, batches), np.array_split(steps, batches), strict=True)
        means = [np.average(part, weights=weights) for part, weights in parts]
        variance = resembling * float(np.var(means, ddof=1)) / batches
        return cls(mean, variance / mean**2, batches)


def _times_deviation(runs: list[_Mean]) -> float:
    """So many standard errors away lies a bound: a quantile of Student's distribution.

    Its expansion in the degrees of freedom, which are Welch's (source: Abramowitz and Stegun,
    Handbook of Mathematical Functions, 26.7.5).
    """
    squares = sum(run.variance**2 / (run.batches - 1) for run in runs)
    freedom = sum(run.variance for run in runs) ** 2 / squares
    z = NormalDist().inv_cdf(1.0 - CHANCE)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
