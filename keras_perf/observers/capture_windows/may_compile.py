"""Steps of which only a trace can tell whether XLA compiles in nearly all of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from keras_perf.observers.steps.recompiling import QUICKEST_COMPILATION_NS
from keras_perf.records.execution import Execution, Kind

ENOUGH = 32
"""Executions, steady ones, that are looked at."""


class MayCompile:
    """Finds, once, executions that mostly take as long as a compilation.

    Where shapes differ, XLA may compile in each of them, and none is quick enough to show it.
    What it cannot see: whether it does; a trace can.
    """

    def __init__(self) -> None:
        self._newest: deque[float] = deque(maxlen=ENOUGH)

    def add(self, executions: Iterable[Execution]) -> bool:
        """Whether the newest executions may nearly all have compiled.

        Arguments:
            executions: the next ones, of a train function that compiles for each shape.
        """
        steady = [float(e.inside_ns) for e in executions if e.kind is Kind.STEADY]
        self._newest.extend(steady)
        full = len(self._newest) == ENOUGH
        return full and median(self._newest) > QUICKEST_COMPILATION_NS
