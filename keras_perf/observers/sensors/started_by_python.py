"""Reads what threads and processes that Python code starts beside training take of the CPUs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from multiprocessing import process

from keras_perf.observers.sensors.times_reader import Clock, CountedNs, TimesReader

NOT_TOLD = "keras_perf", "Dummy-"
"""How the names of our own threads begin, and of those that others than Python have started."""


def python_threads(
    clock: Clock = time.monotonic, computed_ns: CountedNs | None = None
) -> TimesReader:
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

    return TimesReader("host/python_threads_cpu_pct", younger, computed_ns, told=told, clock=clock)


def child_processes(
    clock: Clock = time.monotonic, computed_ns: CountedNs | None = None
) -> TimesReader:
    """Of the processes that `multiprocessing` has started here.

    Such processes make the batches of a `PyDataset` with `use_multiprocessing`, of a torch
    `DataLoader` with workers and of Grain. Those that were started otherwise cannot be seen, nor
    what any of them starts.
    """
    computed_ns = computed_ns or _of_process
    told = computed_ns(os.getpid()) > 0 and _children() is not None
    return TimesReader(
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
