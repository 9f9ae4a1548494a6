"""Reads CPU and memory of the machine and of this process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from statistics import fmean

import psutil

from keras_perf.observers.asking import answers

EVERY_S = 0.5
"""Reading costs a millisecond under a busy interpreter, and shares over less say little."""

_MIB = 1024 * 1024


def _cpu_pct() -> float:
    """Of the CPUs that this process may run on, where the system tells, if all are online."""
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if not mine or len(mine) == os.cpu_count():
        return psutil.cpu_percent()
    each = psutil.cpu_percent(percpu=True)
    known = [pct for number, pct in enumerate(each) if number in mine]
    return fmean(known if len(known) == len(mine) else each)


class HostReader:
    """One sample a call; percentages are over the time since the call before.

    A value that the system does not tell is asked for again, and costs no other.

    Arguments:
        warn: told in one line, once of each, of values that fail.
        clock: monotonic seconds.

    Cannot see: child processes, a container's CPU limit.
    """

    def __init__(
        self, warn: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._warn, self._clock = warn, clock
        self._own: psutil.Process | None = None
        self._due = 0.0
        self._primed = False
        self._before: tuple[float, int] | None = None
        self._told: set[str] = set()

    def read(self) -> dict[str, float]:
        """Tag → value in the tag's unit; nothing at first, or if asked again within EVERY_S."""
        now = self._clock()
        if now < self._due:
            return {}
        self._due = now + EVERY_S
        not_known: dict[str, str] = {}
        found = answers(
            {
                "host/cpu_pct": _cpu_pct,
                "host/process_cpu_pct": lambda: self._process().cpu_percent(),
                "host/memory_used_mib": lambda: psutil.virtual_memory().used / _MIB,
                "host/process_memory_mib": lambda: self._process().memory_info().rss / _MIB,
                "host/read_mib_per_sec": partial(self._read_rate, now),
            },
            not_known,
        )
        self._tell(not_known)
        # psutil compares with the last call of the same thread: the first says nothing.
        primed, self._primed = self._primed, True
        return {tag: value for tag, value in found.items() if value is not None} if primed else {}

    def _process(self) -> psutil.Process:
        if self._own is None:
            self._own = psutil.Process()
        return self._own

    def _tell(self, not_known: dict[str, str]) -> None:
        if new := {tag: why for tag, why in not_known.items() if tag not in self._told}:
            self._told |= new.keys()
            failed = ", ".join(f"{tag} ({why})" for tag, why in new.items())
            self._warn(f"keras_perf: {failed} cannot be read; missing until it can.")

    def _read_rate(self, now: float) -> float | None:
        """None at first, and where the system does not count, or not for us."""
        try:
            count = self._process().io_counters().read_bytes
        except (AttributeError, OSError, psutil.Error):
            return None
        before, self._before = self._before, (now, count)
        return None if before is None else (count - before[1]) / _MIB / (now - before[0])

    def close(self) -> None:
        """Nothing is held."""
