"""What a capture costs, before it begins and after it has ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from keras_perf.records.execution import Execution, Kind

LARGEST_BYTES = 64 * 2**20
"""To save one stops training for seconds and takes 1 GB of memory: benchmarks/reading/trace.py."""

FIXED_BYTES = 2**20
"""A trace's size beside its steps: 0.02 to 1.2 MB, names of all that ran in the process before."""

BYTES_PER_OP = 40
"""In a trace, for each node that a step runs: 19–43 in MLPs, a CNN, GRUs and an LSTM, each round of
their loops counted; less where tiny ones run often (two CPU cores, TensorFlow 2.21)."""

UNKNOWN_BYTES_PER_STEP = 100_000
"""Where the graph is not known: that of a network of thirty layers."""

BEFORE = 64
"""Executions before a window that tell what a step takes without the profiler."""

_PROFILED, _STEADY = Kind.PROFILED, Kind.STEADY


def longest_window(bytes_per_step: float) -> int:
    """Steps whose trace stays within `LARGEST_BYTES`, at least 1."""
    return max(1, int((LARGEST_BYTES - FIXED_BYTES) / bytes_per_step))


def bytes_per_step(size_bytes: int, steps: int) -> float | None:
    """What a step takes, by a trace of some; None where it may be that the steps took least."""
    return size_bytes / steps if steps and size_bytes > 4 * FIXED_BYTES else None


class Slowdown:
    """Median time of the steps inside a window over that of the steps before it.

    What follows the window counts only once its ratio has been taken.
    """

    def __init__(self) -> None:
        self._before: deque[float] = deque(maxlen=BEFORE)
        self._inside: deque[float] = deque(maxlen=BEFORE)

    def add(self, executions: Iterable[Execution]) -> None:
        """Executions in their order; others than steady and profiled ones do not count."""
        for execution in executions:
            kind = execution.kind
            if kind is _PROFILED:
                self._inside.append(execution.cycle_ns / execution.steps)
            elif kind is _STEADY and not self._inside:
                took_ns = execution.end_ns - execution.begin_ns
                self._before.append(took_ns / execution.steps)

    def take(self) -> float | None:
        """The ratio for the window told of since the last time; None if a side is missing."""
        inside, before = list(self._inside), list(self._before)
        self._inside.clear()
        usual = median(before) if before else 0.0
        return median(inside) / usual if inside and usual else None
