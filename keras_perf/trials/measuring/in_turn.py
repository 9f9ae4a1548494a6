"""Two ways of doing the same, measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LEAST_SLICES = 3
DRAWS = 400
BOUNDS = (10, 90)
"""Percentiles of the interval of a ratio: 80% of the draws lie inside."""

LARGE, PATIENCE = 1.2, 3.0
"""Where so large a gain, or a larger one, may still be noise, a pair is measured so many times as
long."""

Slice = Callable[[], float]
"""Does the work for a moment; returns milliseconds of one unit of it."""


@dataclass(frozen=True)
class Pair:
    """What two ways took.

    Attributes:
        before_ms, after_ms: a unit of work, the median of the slices.
        gain: how many times as fast the second one is, with `low` and `high`, an 80% interval.
    """

    before_ms: float
    after_ms: float
    gain: float
    low: float
    high: float

    @property
    def unclear(self) -> bool:
        """Much is gained, or else something disturbed it."""
        return self.gain >= LARGE and self.low <= 1.0


def in_turn(
    before: Slice,
    after: Slice,
    *,
    seconds: float,
    hopeless: float = 0.0,
    clock: Slice = time.perf_counter,
) -> Pair:
    """Measures one and the other in turn, so that a drifting machine drifts for both.

    Arguments:
        before: the work as it is.
        after: the changed one.
        seconds: for both together, more where a slice takes long or the gain stays unclear.
        hopeless: it ends earlier if the gain is less than this at the upper end of its interval.
        clock: seconds.
    """
    times: tuple[list[float], list[float]] = ([], [])
    begin, pair = clock(), None
    while pair is None or clock() - begin < seconds * (PATIENCE if pair.unclear else 1.0):
        for slice_ms, taken in zip((before, after), times, strict=True):
            taken.append(slice_ms())
        if len(times[0]) >= LEAST_SLICES:
            pair = pair_of(*times)
            if pair.high < hopeless:
                break
    return pair


def pair_of(before: list[float], after: list[float]) -> Pair:
    """Of the milliseconds of slices, as many of one as of the other."""
    random = np.random.default_rng(0)
    drawn = random.integers(0, len(before), (DRAWS, len(before)))
    first, second = np.asarray(before), np.asarray(after)
    ratios = np.median(first[drawn], axis=1) / np.median(second[drawn], axis=1)
    low, high = np.percentile(ratios, BOUNDS)
    before_ms, after_ms = float(np.median(first)), float(np.median(second))
    return Pair(before_ms, after_ms, before_ms / after_ms, float(low), float(high))
