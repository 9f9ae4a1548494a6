"""Intervals for means and ratios, by resampling a run's intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd

DRAWS = 1000
BOUNDS = (5, 95)
"""Percentiles of the intervals that are given: 90 % of the draws lie inside."""


def resampled_step_ms(intervals: pd.DataFrame, seed: int) -> np.ndarray:
    """Bootstrap draws of the mean step time.

    Arguments:
        intervals: as in `Summary.intervals`.
        seed: the same seed gives the same draws.

    Intervals are drawn whole, since steps close in time resemble each other; what it cannot see
    is what differs from run to run.
    """
    steps = intervals["steps"].to_numpy(dtype=float)
    total = steps * intervals["step"].to_numpy(dtype=float)
    chosen = np.random.default_rng(seed).integers(0, len(steps), (DRAWS, len(steps)))
    draws: np.ndarray = total[chosen].sum(axis=1) / steps[chosen].sum(axis=1)
    return draws


def speedup_interval(before: pd.DataFrame, after: pd.DataFrame) -> tuple[float, float]:
    """Bounds of the ratio of two runs' mean step times."""
    ratios = resampled_step_ms(before, 0) / resampled_step_ms(after, 1)
    low, high = np.percentile(ratios, BOUNDS)
    return float(low), float(high)
