"""Recognises executions in which XLA compiled, where nothing says so."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
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

    def judged(
        self, executions: Sequence[Execution], waits: Mapping[int, int] | None
    ) -> list[Execution]:
        """The executions with their final kind, and for how long those compiled that did.

        Arguments:
            executions: all, in their order.
            waits: first step → input wait, as far as it is known; None where it never is: then
                compiling cannot be told from waiting, and what takes so long may be either.
        """
        for execution in executions:
            if execution.kind is Kind.WARMUP:
                self.saw(execution)
        if waits is None:
            suspects = self.excesses(executions, {e.first_step: 0 for e in executions})
            found = dict.fromkeys(suspects, 0)
        else:
            steady = {e.first_step for e in executions if e.kind is Kind.STEADY}
            found = self.excesses(executions, {s: ns for s, ns in waits.items() if s in steady})
        return [
            e._replace(kind=Kind.RECOMPILED, compile_ns=found[e.first_step])
            if e.first_step in found
            else e
            for e in executions
        ]

    def saw(self, execution: Execution) -> None:
        """One of the warm-up: it is not judged, but tells how fast a step can be."""
        self._newest.append(execution.inside_ns / execution.steps)

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
