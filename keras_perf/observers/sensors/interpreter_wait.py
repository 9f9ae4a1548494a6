"""Measures how long a thread waits for Python's interpreter."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

PROBES = 5
"""Tries of one reading: who comes at the right moment does not wait."""

EVERY_S = 0.15
"""Reading takes some milliseconds, and under a busy interpreter some ten, which the other sensors
of a fast sampler would wait for."""

PAUSE_S = 0.0005
"""Between two tries the thread sleeps, and must then ask for the interpreter again."""


class InterpreterReader:
    """How late a thread wakes that has to hold the interpreter (the GIL) to go on.

    While another thread runs Python code without a pause, that is up to its switch interval,
    5 ms; otherwise 0.1 ms and less, which is the system's timer.

    What it waits for a core, where more threads than cores are at work, is taken off as Linux
    tells it (run_delay, the second figure of /proc/<pid>/schedstat, documented in the kernel's
    sched-stats).

    Cannot see: which thread holds it; elsewhere than on Linux, that it waited for a core. Python
    built without the GIL has nothing to wait for.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
        core_wait_s: Callable[[], float] | None = None,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._core_wait_s = core_wait_s or core_wait_s_of_this_thread
        self._due = -math.inf

    def read(self) -> dict[str, float]:
        """Tag → mean of the tries, in milliseconds; nothing if asked again within EVERY_S."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        return {"host/interpreter_wait_ms": fmean(self._try_ms() for _ in range(PROBES))}

    def _try_ms(self) -> float:
        waited_s, begin = self._core_wait_s(), self._clock()
        self._sleep(PAUSE_S)
        late_s = self._clock() - begin - PAUSE_S
        return 1e3 * max(0.0, late_s - (self._core_wait_s() - waited_s))

    def close(self) -> None:
        """Nothing is held."""


_SCHEDSTAT = Path("/proc/thread-self/schedstat")


def core_wait_s_of_this_thread() -> float:
    """Seconds that the calling thread could have run, but had no core; 0 where nobody tells."""
    try:
        return int(_SCHEDSTAT.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
