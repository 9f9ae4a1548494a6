"""Reads a time that the system counts for each of several threads or processes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

Clock = Callable[[], float]
CountedNs = Callable[[int], int]


class TimesReader:
    """What all that run now took of the time since the call before.

    Arguments:
        tag: of what is read.
        running: numbers that the system has given them.
        counted_ns: of the one with this number; 0 where it has ended.
        told: the system tells.
        clock: monotonic seconds.
        every_s: nothing is read if asked again so soon.

    Cannot see: what one did between its last reading and its end.
    """

    def __init__(
        self,
        tag: str,
        running: Callable[[], Iterable[int]],
        counted_ns: CountedNs,
        *,
        told: bool,
        clock: Clock,
        every_s: float = 0.0,
    ) -> None:
        self._tag, self._running, self._counted_ns = tag, running, counted_ns
        self._told, self._clock, self._every_s = told, clock, every_s
        self._before: dict[int, int] | None = None
        self._since = -math.inf

    def read(self) -> dict[str, float]:
        """Tag → percent of the time; nothing at first, and where the system does not tell."""
        now = self._clock()
        if not self._told or now < self._since + self._every_s:
            return {}
        counts = {number: self._counted_ns(number) for number in self._running()}
        seconds = now - self._since
        before, self._before, self._since = self._before, counts, now
        if before is None or seconds <= 0:
            return {}
        # One that is new has done all of it since; a number is given again.
        done_ns = sum(max(0, ns - before.get(number, 0)) for number, ns in counts.items())
        return {self._tag: done_ns / 1e7 / seconds}

    def close(self) -> None:
        """Nothing is held."""
