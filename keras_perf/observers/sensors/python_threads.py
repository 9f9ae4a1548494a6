"""Reads what Python's threads beside the one that trains take of the CPUs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

EVERY_S = 0.2
"""Reading costs 50 µs a thread; what a thread does between its last reading and its end is lost,
and Keras ends those of a `PyDataset` with each epoch."""

OWN = "keras_perf"
"""How the names of our own threads begin."""


class PythonThreadsReader:
    """CPU use over the time since the call before; nothing at first, or within EVERY_S.

    Such threads make the batches of a `PyDataset` with workers, for one. Linux tells for how long
    each has computed (the first figure of /proc/<pid>/task/<tid>/schedstat, documented in the
    kernel's sched-stats).

    Arguments:
        clock: monotonic seconds.
        computed_ns: of the thread with this number of the system's; None where nobody tells.

    Cannot see: threads that were started without Python's `threading`, as tf.data's are; what a
    thread did since the last reading before it ended; anything elsewhere than on Linux.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        computed_ns: Callable[[int], int | None] | None = None,
    ) -> None:
        self._clock = clock
        self._computed_ns = computed_ns or _computed_ns
        self._training = threading.get_ident()
        self._before: dict[int, int] | None = None
        self._since = self._due = 0.0

    def read(self) -> dict[str, float]:
        """Tag → percent of one CPU."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        counts, seconds = self._counts(), now - self._since
        before, self._before, self._since = self._before, counts, now
        if before is None or counts is None:
            return {}
        # A thread that is new has done all of it since; a number is given again.
        done_ns = sum(max(0, ns - before.get(thread, 0)) for thread, ns in counts.items())
        return {"host/python_threads_cpu_pct": done_ns / 1e7 / seconds}

    def _counts(self) -> dict[int, int] | None:
        """Nanoseconds by thread; None where nobody tells."""
        counts: dict[int, int] = {}
        for thread in threading.enumerate():
            number = thread.native_id
            if number is None or thread.ident == self._training or thread.name.startswith(OWN):
                continue
            computed_ns = self._computed_ns(number)
            if computed_ns is None:
                return None
            counts[number] = computed_ns
        return counts

    def close(self) -> None:
        """Nothing is held."""


def _computed_ns(thread: int) -> int | None:
    try:
        return int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0])
    except FileNotFoundError:
        # It has ended meanwhile, unless no thread is counted here.
        return 0 if Path("/proc/self/schedstat").exists() else None
    except (OSError, ValueError, IndexError):
        return None
