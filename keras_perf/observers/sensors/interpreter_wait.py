"""Measures how long a thread waits for Python's interpreter."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
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

    Cannot see: which thread holds it, and waiting for a core where more threads than cores are
    at work. Python built without the GIL has nothing to wait for.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._due = -math.inf

    def read(self) -> dict[str, float]:
        """Tag → mean of the tries, in milliseconds; nothing if asked again within EVERY_S."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        return {"host/interpreter_wait_ms": fmean(self._try_ms() for _ in range(PROBES))}

    def _try_ms(self) -> float:
        begin = self._clock()
        self._sleep(PAUSE_S)
        return 1e3 * max(0.0, self._clock() - begin - PAUSE_S)

    def close(self) -> None:
        """Nothing is held."""
