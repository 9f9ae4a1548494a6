"""Reads what threads and processes that Python code starts beside training take of the CPUs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import process

Clock = Callable[[], float]
ComputedNs = Callable[[int], int]

NOT_TOLD = "keras_perf", "Dummy-"
"""How the names of our own threads begin, and of those that others than Python have started."""


class StartedReader:
    """CPU use over the time since the call before, of all that run now.

    Linux tells for how long each of them has computed.

    Arguments:
        tag: of what is read.
        running: numbers that the system has given them.
        computed_ns: of the one with this number; 0 where it has ended.
        told: the system tells.
        clock: monotonic seconds.

    Cannot see: what one did between its last reading and its end; anything elsewhere than on Linux.
    """

    def __init__(
        self,
        tag: str,
        running: Callable[[], Iterable[int]],
        computed_ns: ComputedNs,
        *,
        told: bool,
        clock: Clock,
    ) -> None:
        self._tag, self._running, self._computed_ns = tag, running, computed_ns
        self._told, self._clock = told, clock
        self._before: dict[int, int] | None = None
        self._since = 0.0

    def read(self) -> dict[str, float]:
        """Tag → percent of one CPU; nothing at first, and where the system does not tell."""
        if not self._told:
            return {}
        now = self._clock()
        counts = {number: self._computed_ns(number) for number in self._running()}
        seconds = now - self._since
        before, self._before, self._since = self._before, counts, now
        if before is None or seconds <= 0:
            return {}
        # One that is new has done all of it since; a number is given again.
        done_ns = sum(max(0, ns - before.get(number, 0)) for number, ns in counts.items())
        return {self._tag: done_ns / 1e7 / seconds}

    def close(self) -> None:
        """Nothing is held."""


def python_threads(
    clock: Clock = time.monotonic, computed_ns: ComputedNs | None = None
) -> StartedReader:
    """Of the threads of Python that are younger than the reader.

    Such threads make the batches of a `PyDataset` with workers, for one: Keras starts them with
    each epoch. Whose a thread is cannot be seen.
    """
    computed_ns = computed_ns or _of_thread
    others = {thread.ident for thread in threading.enumerate()}
    told = computed_ns(threading.get_native_id()) > 0

    def younger() -> Iterator[int]:
        for thread in threading.enumerate():
            ours = thread.name.startswith(NOT_TOLD)
            if thread.native_id is not None and thread.ident not in others and not ours:
                yield thread.native_id

    return StartedReader(
        "host/python_threads_cpu_pct", younger, computed_ns, told=told, clock=clock
    )


def child_processes(
    clock: Clock = time.monotonic, computed_ns: ComputedNs | None = None
) -> StartedReader:
    """Of the processes that `multiprocessing` has started here.

    Such processes make the batches of a `PyDataset` with `use_multiprocessing`, of a torch
    `DataLoader` with workers and of Grain. Those that were started otherwise cannot be seen, nor
    what any of them starts.
    """
    computed_ns = computed_ns or _of_process
    told = computed_ns(os.getpid()) > 0 and _children() is not None
    return StartedReader(
        "host/child_processes_cpu_pct", _of_children, computed_ns, told=told, clock=clock
    )


def _of_children() -> Iterator[int]:
    for child in list(_children() or ()):
        try:
            number = child.pid
        except ValueError:
            # Somebody has closed it.
            continue
        if number is not None:
            yield number


def _children() -> set[process.BaseProcess] | None:
    """Those that may still run; None where Python keeps no such set.

    `multiprocessing.active_children` would also take their exit codes from the system, for which
    whoever waits for one of them may be asking at the same time.
    """
    return getattr(process, "_children", None)


def _of_thread(number: int) -> int:
    """Nanoseconds that this thread has computed."""
    return _clock_ns(~number << 3 | 6)


def _of_process(number: int) -> int:
    """Nanoseconds that all threads of this process have computed."""
    return _clock_ns(~number << 3 | 2)


def _clock_ns(clock: int) -> int:
    """0 where it has ended, and where the system has no such clock.

    Linux makes the number of a CPU clock of that of its thread or process, as
    pthread_getcpuclockid(3) and clock_getcpuclockid(3) do; the first must not be asked of a thread
    that may have ended. Asking a clock takes 1 to 5 µs and does not let go of the interpreter, as
    opening a file would.
    """
    try:
        return time.clock_gettime_ns(clock)
    except (AttributeError, OSError, OverflowError):
        return 0
