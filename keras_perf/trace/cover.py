"""How much of which time is covered: arithmetic of intervals, without loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ticks = NDArray[np.int64]


class Cover:
    """The union of intervals, each time counted once.

    Arguments:
        begin: of the intervals, in any order, overlapping or not; in any unit.
        end: of the same.

    >>> import numpy as np
    >>> cover = Cover(np.array([0, 5, 20]), np.array([10, 12, 30]))
    >>> cover.within(np.array([0, 11]), np.array([11, 25])).tolist()
    [11, 6]
    """

    def __init__(self, begin: Ticks, end: Ticks) -> None:
        order = np.argsort(begin, kind="stable")
        begin, end = begin[order], np.maximum.accumulate(end[order]) if len(end) else end
        # A new piece begins where all that went before has ended.
        first = np.ones(len(begin), dtype=bool)
        first[1:] = begin[1:] > end[:-1]
        last = np.append(first[1:], True)[: len(begin)]
        self.begin, self.end = begin[first], end[last]
        self._before = np.concatenate([[0], np.cumsum(self.end - self.begin)])

    def __or__(self, other: Cover) -> Cover:
        begin = np.concatenate([self.begin, other.begin])
        return Cover(begin, np.concatenate([self.end, other.end]))

    def within(self, begin: Ticks, end: Ticks) -> Ticks:
        """Covered time of each window.

        Arguments:
            begin: of the windows.
            end: of the same; one before its begin counts as an empty window.
        """
        covered: Ticks = self._until(np.maximum(begin, end)) - self._until(begin)
        return covered

    def _until(self, time: Ticks) -> Ticks:
        piece = np.searchsorted(self.begin, time, side="right")
        if not len(self.begin):
            return np.zeros(len(time), dtype=np.int64)
        inside = np.minimum(time, self.end[piece - 1]) - self.begin[piece - 1]
        covered: Ticks = np.where(piece == 0, 0, self._before[piece - 1] + inside)
        return covered


def within_each(begin: Ticks, end: Ticks, at: Ticks) -> Ticks:
    """The window that each time lies in, or −1.

    Arguments:
        begin: of windows in their order, which do not overlap.
        end: of the same; it is outside.
        at: times.
    """
    window = np.searchsorted(begin, at, side="right") - 1
    inside = (window >= 0) & (at < end[window])
    return np.where(inside, window, -1)
