"""Recognises executions in which XLA compiled, where nothing says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median

from keras_perf.records.execution import Execution, Kind

MANY_TIMES = 8.0
"""An execution that takes so many times as long per step as fast ones did more than compute."""

WINDOW = 128
ENOUGH = 8


class RecompileGuess:
    """Finds steady executions that compute for many times as long as the fastest tenth.

    XLA compiles anew for every shape, without a new trace, and no public counter tells. A
    compilation takes hundreds of milliseconds where a step takes few. For train functions that
    XLA compiles, on data whose shapes can differ. What it cannot see: compilations where nearly
    every step is one; they are what is usual then.
    """

    def __init__(self) -> None:
        self._newest: deque[float] = deque(maxlen=WINDOW)
        self._waits: deque[int] = deque(maxlen=WINDOW)

    def excesses(self, executions: Iterable[Execution], waits: Mapping[int, int]) -> dict[int, int]:
        """First step → nanoseconds spent on compiling.

        Arguments:
            executions: in their order.
            waits: first step → input wait. Where it is not known it is taken to be the usual one;
                as long as none is known nothing is found.
        """
        found: dict[int, int] = {}
        self._waits.extend(waits.values())
        if not self._waits:
            return found
        usual = round(median(self._waits))
        for execution in executions:
            if execution.kind is not Kind.STEADY:
                continue
            computing = execution.inside_ns - waits.get(execution.first_step, usual)
            self._newest.append(computing / execution.steps)
            fast = sorted(self._newest)[len(self._newest) // 10] * execution.steps
            if len(self._newest) >= ENOUGH and computing > MANY_TIMES * fast:
                found[execution.first_step] = round(computing - fast)
        return found
