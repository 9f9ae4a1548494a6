"""Mean parts of a step over a run's intervals, or over intervals drawn from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from keras_perf.records.interval import PARTS

Figures = NDArray[np.float64]


def _weighed(times: Figures, figures: Figures) -> Figures:
    """Not by BLAS, whose threads wait for each other where others use the CPUs."""
    sums: Figures = np.einsum("ij,j->i", times, figures)
    return sums


def part_means(
    intervals: pd.DataFrame, times: Figures, blocks: NDArray[np.intp] | None = None
) -> dict[str, Figures]:
    """Means over steps, that add up to the step.

    Returns:
        `step` and each measured part → milliseconds per step, of shape (draws,). NaN where a
        draw holds no interval in which the part was measured.

    Arguments:
        intervals: as in `Summary.intervals`.
        times: how often each interval counts, of shape (draws, intervals); or each block of them.
        blocks: the first interval of each block, from 0 on; None for a block an interval.

    A part measured in some intervals only (dispatch, once a trial has told it; input wait) is
    taken at its mean there, out of compute in the others.
    """
    steps = intervals["steps"].to_numpy(dtype=float)

    def in_blocks(figures: Figures) -> Figures:
        return figures if blocks is None else np.add.reduceat(figures, blocks)

    def mean(name: str) -> Figures:
        values = intervals[name].to_numpy(dtype=float)
        known = np.isfinite(values)
        sums = _weighed(times, in_blocks(np.where(known, steps * values, 0.0)))
        counts = _weighed(times, in_blocks(np.where(known, steps, 0.0)))
        means: Figures = np.full(len(times), np.nan)
        return np.divide(sums, counts, out=means, where=counts > 0)

    step = left = mean("step")
    found = {}
    unknown = {p: intervals[p].isna() for p in PARTS if p != "compute" and p in intervals}
    measured = [part for part, missing in unknown.items() if not missing.all()]
    for part in sorted(measured, key=lambda name: unknown[name].sum()):
        found[part] = np.minimum(mean(part), left)
        left = left - found[part]
    found["compute"] = left
    return {"step": step, **{part: found[part] for part in PARTS if part in found}}
