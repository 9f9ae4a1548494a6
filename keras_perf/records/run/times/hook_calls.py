"""How often a hook did its work."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keras_perf.records.shapes import count, fact, needed, number

HELD_MS, STOPPED_MS = 10.0, 100.0
"""A thread that has lost its core, and one whose container has used up its quota of CPU time, go on
by then: beside two busy processes after 3.4 to 5 ms on average, lost in one of 9 to 16 calls of a
hook that only asks the system for a time; and after a period of the quota, a tenth of a second
mostly."""


@dataclass(frozen=True, slots=True)
class HookCalls:
    """Of so many `times` that a hook was called it did nearly all of its work in `working`.

    A batch hook is called after each execution, an epoch's hook after each epoch. `held` is the
    share of its time by which rare calls of 10 ms at most took longer than the usual one, and may
    have waited for a core; `stopped` the same of 100 ms at most.
    """

    times: int = needed(count(1))
    working: float = needed(number(1e-6))
    held: float = fact(number(most=1.0), 0.0)
    stopped: float = fact(number(most=1.0), 0.0)

    @property
    def period(self) -> float:
        """It works every so many times; 1 where it works as long each time."""
        return max(1.0, self.times / self.working)

    @property
    def every(self) -> int:
        """It works every so many times, in whole ones.

        Work of uneven length in every call looks a little as if it were done more rarely.
        """
        return math.floor(self.period + 0.25)
