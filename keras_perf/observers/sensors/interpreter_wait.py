"""Measures how long a thread waits for Python's interpreter."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from statistics import fmean

from keras_perf.observers.sensors.core_wait import CoreWait

PROBES = 5
"""Tries of one reading: who comes at the right moment does not wait."""

EVERY_S = 0.3
"""Reading takes some milliseconds, and under a busy interpreter some ten, which the other sensors
of a fast sampler would wait for; training's thread loses half a millisecond each time."""

PAUSE_S = 0.0005
"""Between two tries the thread sleeps, and must then ask for the interpreter again."""


class InterpreterReader:
    """How late a thread wakes that has to hold the interpreter (the GIL) to go on.

    While another thread runs Python code without a pause, that is up to its switch interval,
    5 ms; otherwise 0.1 ms and less, which is the system's timer.

    What it waits for a core, where more threads than cores are at work, is taken off as Linux
    tells it.

    Cannot see: which thread holds it; elsewhere than on Linux, that it waited for a core. Python
    built without the GIL has nothing to wait for.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
        core_wait: CoreWait | None = None,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._core_wait = core_wait or CoreWait()
        self._due = -math.inf

    def read(self) -> dict[str, float]:
        """Tag → mean of the tries, in milliseconds; nothing if asked again within EVERY_S."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        return {"host/interpreter_wait_ms": fmean(self._tries_ms())}

    def _tries_ms(self) -> Iterator[float]:
        before_s = self._core_wait.seconds()
        for _ in range(PROBES):
            begin = self._clock()
            self._sleep(PAUSE_S)
            late_s = self._clock() - begin - PAUSE_S
            waited_s = self._core_wait.seconds()
            yield 1e3 * max(0.0, late_s - (waited_s - before_s))
            before_s = waited_s

    def close(self) -> None:
        """Closes the file."""
        self._core_wait.close()
