"""Reads CPU and memory of the machine and of this process."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

EVERY_S = 0.5
"""Reading costs a millisecond under a busy interpreter, and shares over less say little."""

_MIB = 1024 * 1024


class HostReader:
    """One sample a call; percentages are over the time since the call before.

    Cannot see: child processes, a container's CPU limit.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._process = psutil.Process()
        self._due = 0.0
        self._primed = False
        self._before: tuple[float, int] | None = None

    def read(self) -> dict[str, float]:
        """Tag → value in the tag's unit; nothing at first, or if asked again within EVERY_S."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        if not self._primed:
            # psutil compares with the last call of the same thread: the first says nothing.
            self._primed = True
            psutil.cpu_percent()
            self._process.cpu_percent()
            self._read_rate(now)
            return {}
        with self._process.oneshot():
            return {
                "host/cpu_pct": psutil.cpu_percent(),
                "host/process_cpu_pct": self._process.cpu_percent(),
                "host/memory_used_mib": psutil.virtual_memory().used / _MIB,
                "host/process_memory_mib": self._process.memory_info().rss / _MIB,
                **self._read_rate(now),
            }

    def _read_rate(self, now: float) -> dict[str, float]:
        """Nothing where the system does not count, or not for us."""
        try:
            count = self._process.io_counters().read_bytes
        except (AttributeError, OSError, psutil.Error):
            return {}
        before, self._before = self._before, (now, count)
        if before is None:
            return {}
        return {"host/read_mib_per_sec": (count - before[1]) / _MIB / (now - before[0])}

    def close(self) -> None:
        """Nothing is held."""
