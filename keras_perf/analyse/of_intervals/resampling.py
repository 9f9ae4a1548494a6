"""Intervals for means, differences and ratios, by resampling a run's intervals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from keras_perf.analyse.of_intervals.part_means import Figures, part_means

DRAWS = 1000
BOUNDS = (5, 95)
"""Percentiles of the intervals that are given: 90% of the draws lie inside."""

MOST_BLOCKS = 4096
"""Of more intervals than these, consecutive ones are drawn together; a day has some 170,000."""

Bounds = tuple[float, float]


def resampled_means(intervals: pd.DataFrame, seed: int) -> dict[str, Figures]:
    """Bootstrap draws of the mean step and of its mean parts.

    Returns:
        `step` and each measured part → milliseconds per step, of shape (DRAWS,); in each draw the
        parts add up to the step.

    Arguments:
        intervals: as in `Summary.intervals`, at least one.
        seed: the same seed gives the same draws.

    Of n intervals (of blocks of them, where they are very many) n are drawn with replacement,
    whole, since steps close in time resemble each other: a bootstrap of blocks (Künsch, Annals of
    Statistics 17, 1989), its bounds the draws' percentiles (Efron and Tibshirani, An Introduction
    to the Bootstrap, 1993, chapter 13).

    What it cannot see: what lasts longer than an interval, and what differs from run to run. A
    single interval leaves nothing to draw, and its bounds are its mean.
    """
    count = min(len(intervals), MOST_BLOCKS)
    blocks = np.arange(count) * len(intervals) // count
    return part_means(intervals, _times_drawn(count, seed).astype(float), blocks)


@lru_cache(maxsize=2)
def _times_drawn(count: int, seed: int) -> NDArray[np.uint16]:
    """How often each block is drawn, of shape (DRAWS, count).

    A long run that grows keeps its number of blocks; no block is drawn more than `MOST_BLOCKS`
    times.
    """
    drawn = np.random.default_rng(seed).integers(0, count, (DRAWS, count))
    drawn += count * np.arange(DRAWS)[:, None]
    times = np.bincount(drawn.ravel(), minlength=drawn.size)
    return times.reshape(drawn.shape).astype(np.uint16)


def bounds_of(draws: Figures) -> Bounds:
    """The interval that holds 90% of the draws; NaN where there are none."""
    known = draws[np.isfinite(draws)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.percentile(known, BOUNDS)
    return float(low), float(high)


def speedup_interval(before: pd.DataFrame, after: pd.DataFrame) -> Bounds:
    """Bounds of the ratio of two runs' mean step times."""
    return bounds_of(resampled_means(before, 0)["step"] / resampled_means(after, 1)["step"])
