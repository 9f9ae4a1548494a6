"""The line of peak memory over batch size, and where it meets the memory there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FILLED = 0.95
"""Share of the memory that the predicted batch may take: allocators leave gaps."""

STRAIGHT = 0.9
"""Least share of the peaks' variance that the line must explain."""

LEAST_POINTS = 3

LEAST_RISE_MIB = 1.0
"""From the smallest size to the largest: resident memory varies by some tenths by itself."""


@dataclass(frozen=True)
class MemoryLine:
    """Peak memory a + b · batch size.

    Attributes:
        fixed_mib: a.
        per_example_mib: b.
    """

    fixed_mib: float
    per_example_mib: float

    def largest_batch(self, limit_mib: float) -> int:
        """The largest batch whose peak fills no more than 95% of this memory; 0 if none does."""
        return max(0, int((FILLED * limit_mib - self.fixed_mib) / self.per_example_mib))


def memory_line(sizes: Sequence[int], peaks_mib: Sequence[float]) -> MemoryLine | None:
    """By least squares; None where fewer than three points, or no straight rise, tell nothing."""
    if len(sizes) < LEAST_POINTS:
        return None
    slope, fixed = np.polyfit(sizes, peaks_mib, 1)
    left = np.var(np.asarray(peaks_mib) - (fixed + slope * np.asarray(sizes)))
    rise = slope * (max(sizes) - min(sizes))
    if rise < LEAST_RISE_MIB or left > (1 - STRAIGHT) * np.var(peaks_mib):
        return None
    return MemoryLine(float(fixed), float(slope))
