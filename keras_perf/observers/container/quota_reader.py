"""Reads how often a container had used up its quota of CPU time, and stood still."""

from __future__ import annotations

import time
from collections.abc import Callable

from keras_perf.observers.container.limits import QuotaPeriods, quota_periods
from keras_perf.observers.sensors.times_reader import Clock
from keras_perf.records.metrics.host_metrics import THROTTLED

EVERY_S = 0.5
"""A period is a tenth of a second mostly."""


class QuotaReader:
    """Share of the quota's periods, since the call before, in which it was used up.

    Arguments:
        clock: monotonic seconds.
        counted: periods so far, and those of them; the system's by default.

    Cannot see: for how long threads stood still in such a period.
    """

    def __init__(
        self,
        clock: Clock = time.monotonic,
        counted: Callable[[], QuotaPeriods | None] = quota_periods,
    ) -> None:
        self._clock, self._counted = clock, counted
        self._before = counted()
        self._due = clock() + EVERY_S

    def read(self) -> dict[str, float]:
        """Tag → percent; nothing where there is no quota, and until a period has ended."""
        if self._before is None or (asked_s := self._clock()) < self._due:
            return {}
        now, self._due = self._counted(), asked_s + EVERY_S
        if now is None or now.periods == self._before.periods:
            return {}
        before, self._before = self._before, now
        periods, used_up = now.periods - before.periods, now.used_up - before.used_up
        # Of another group of processes, counters begin anew.
        return {THROTTLED: 100.0 * used_up / periods} if 0 <= used_up <= periods else {}

    def close(self) -> None:
        """Nothing is held."""
