"""Reads what threads that Python code starts beside training take of the CPUs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

NOT_TOLD = "keras_perf", "Dummy-"
"""How the names of our own threads begin, and of those that others than Python have started."""


class PythonThreadsReader:
    """CPU use over the time since the call before, by threads that are younger than the reader.

    Such threads make the batches of a `PyDataset` with workers, for one: Keras starts them with
    each epoch. Linux tells for how long each has computed.

    Arguments:
        clock: monotonic seconds.
        computed_ns: of the thread with this number of the system's; 0 where it has ended.

    Cannot see: whose a thread is; what a thread did between its last reading and its end; anything
    elsewhere than on Linux.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        computed_ns: Callable[[int], int] | None = None,
    ) -> None:
        self._clock = clock
        self._computed_ns = computed_ns or _computed_ns
        self._others = {thread.ident for thread in threading.enumerate()}
        self._told = self._computed_ns(threading.get_native_id()) > 0
        self._before: dict[int, int] | None = None
        self._since = 0.0

    def read(self) -> dict[str, float]:
        """Tag → percent of one CPU; nothing at first, and where the system does not tell."""
        if not self._told:
            return {}
        now = self._clock()
        counts, seconds = self._counts(), now - self._since
        before, self._before, self._since = self._before, counts, now
        if before is None or seconds <= 0:
            return {}
        # A thread that is new has done all of it since; a number is given again.
        done_ns = sum(max(0, ns - before.get(thread, 0)) for thread, ns in counts.items())
        return {"host/python_threads_cpu_pct": done_ns / 1e7 / seconds}

    def _counts(self) -> dict[int, int]:
        """Nanoseconds by the system's number of the thread."""
        return {
            thread.native_id: self._computed_ns(thread.native_id)
            for thread in threading.enumerate()
            if thread.native_id is not None
            and thread.ident not in self._others
            and not thread.name.startswith(NOT_TOLD)
        }

    def close(self) -> None:
        """Nothing is held."""


def _computed_ns(thread: int) -> int:
    """0 where it has ended, and where the system has no such clock.

    Linux makes the number of a thread's CPU clock of that of the thread, as
    pthread_getcpuclockid(3) does, which must not be asked of a thread that may have ended. Asking
    a clock takes 1 µs and does not let go of the interpreter, as opening a file would.
    """
    try:
        return time.clock_gettime_ns(~thread << 3 | 6)
    except (AttributeError, OSError, OverflowError):
        return 0
