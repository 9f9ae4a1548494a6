"""What a capture costs, before it begins and after it has ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from keras_perf.records.execution import Execution, Kind

LARGEST_BYTES = 64 * 2**20
"""A trace of this size took 4 s to save and 2.4 GB of memory (two CPU cores, TensorFlow 2.21)."""

BYTES_PER_OP = 40
"""In a trace, for each node of the graph and step: 29–33 for MLPs and a CNN, 21 with XLA, 126 for
a GRU, whose loop runs its nodes many times (two CPU cores, TensorFlow 2.21)."""

UNKNOWN_BYTES_PER_STEP = 100_000
"""Where the graph is not known: that of a network of thirty layers."""

BEFORE = 64
"""Executions before a window that tell what a step takes without the profiler."""


def longest_window(bytes_per_step: float) -> int:
    """Steps whose trace stays within `LARGEST_BYTES`, at least 1."""
    return max(1, int(LARGEST_BYTES / bytes_per_step))


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
            if execution.kind is Kind.PROFILED:
                self._inside.append(execution.cycle_ns / execution.steps)
            elif execution.kind is Kind.STEADY and not self._inside:
                self._before.append(execution.cycle_ns / execution.steps)

    def take(self) -> float | None:
        """The ratio for the window told of since the last time; None if a side is missing."""
        inside, before = list(self._inside), list(self._before)
        self._inside.clear()
        return median(inside) / median(before) if before and inside else None
