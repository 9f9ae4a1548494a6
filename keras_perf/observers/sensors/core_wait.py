"""Reads for how long threads could have run, but had no core: Linux's run_delay.

It is the second figure of /proc/<pid>/task/<tid>/schedstat (the kernel's sched-stats).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

from keras_perf.observers.sensors.times_reader import Clock, CountedNs, TimesReader
from keras_perf.observers.usable_cores import usable_cores
from keras_perf.records.metrics.host_metrics import CORE_WAIT

EVERY_S = 0.5
"""Reading takes half a millisecond."""


class CoreWait:
    """For how long the thread that asked first could have run, but had no core.

    Its file stays open: to open, read and close it lets go of the interpreter six times, and each
    time training's thread and this one hand it to each other.
    """

    def __init__(self) -> None:
        self._file: int | None = None
        self._closed = False

    def seconds(self) -> float:
        """In all; 0 where nobody tells, and once it is closed, which another thread may do."""
        try:
            file = self._file
            if file is None:
                if self._closed:
                    return 0.0
                file = self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
            return int(os.pread(file, 100, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0

    def close(self) -> None:
        """Gives the file back; safe to call twice."""
        self._closed = True
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


class OwnTime:
    """What the thread that asks did from one moment to another, but for what it slept.

    Where it calls a function that threads of a pool run, that is entering and leaving it: between
    the two it sleeps. One reading costs 1 µs.

    What it cannot see: elsewhere than on Linux, for how long it had no core.
    """

    def __init__(
        self,
        cpu_clock: Callable[[], int] = time.thread_time_ns,
        core_wait: CoreWait | None = None,
    ) -> None:
        self._cpu_clock, self._core_wait = cpu_clock, core_wait or CoreWait()
        self._begun_ns: int | None = None

    def begin(self) -> None:
        """It counts from now on."""
        self._begun_ns = self._now_ns()

    def take(self) -> int:
        """Nanoseconds since `begin`; 0 where that was not called since the last time."""
        begun_ns, self._begun_ns = self._begun_ns, None
        return 0 if begun_ns is None else max(0, self._now_ns() - begun_ns)

    def _now_ns(self) -> int:
        return self._cpu_clock() + round(1e9 * self._core_wait.seconds())

    def close(self) -> None:
        """Gives the system's file back; safe to call twice."""
        self._core_wait.close()


def core_waits(
    clock: Clock = time.monotonic,
    waited_ns: CountedNs | None = None,
    cores: int | None = None,
) -> TimesReader:
    """Of all threads of this process, where it has one core.

    There it tells what sleeps from what other processes keep from computing. With more cores
    threads are many, and to read them all takes long.

    Arguments:
        clock: monotonic seconds.
        waited_ns: of the thread with this number; the system's by default.
        cores: that the process may use; those of the system by default.
    """
    waited_ns = waited_ns or _of_thread
    told = (cores or usable_cores()) == 1 and waited_ns(threading.get_native_id()) > 0
    return TimesReader(CORE_WAIT, _threads, waited_ns, told=told, clock=clock, every_s=EVERY_S)


def _threads() -> Iterator[int]:
    try:
        yield from map(int, os.listdir("/proc/self/task"))
    except OSError:
        return


def _of_thread(number: int) -> int:
    try:
        with open(f"/proc/self/task/{number}/schedstat", "rb") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
