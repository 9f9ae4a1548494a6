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

QUICKEST_COMPILATION_NS = 10_000_000
"""XLA takes longer for any train function; 25 ms for a single small layer on an idle CPU."""

SHARE_OF_FIRST = 0.1
"""What takes less than this share of the first compilation is none: for another length XLA has the
same operations to compile, which took 0.6 to 2.1 times as long on a CPU that others used too."""


class RecompileGuess:
    """Finds steady executions that compute for many times as long as the fastest tenth.

    XLA compiles anew for every shape, without a new trace, and no public counter tells. A
    compilation takes hundreds of milliseconds where a step takes few. For train functions that
    XLA compiles, on data whose shapes can differ. Where batches were all alike, or the time is far
    from what the first compilation took, something else held the execution up.

    What it cannot see: compilations where nearly every step is one; they are what is usual then.
    Of executions that are held up for as long as XLA compiles: that they did not compile.

    Attributes:
        begins: nothing is known yet of the first execution, which compiles.
        found: how many are taken to have compiled.
        found_ns: for how long all of them did.
    """

    def __init__(self) -> None:
        self.begins = True
        self.found = self.found_ns = 0
        self._least_ns = float(QUICKEST_COMPILATION_NS)
        self._newest: deque[float] = deque(maxlen=WINDOW)
        self._waits: deque[int] = deque(maxlen=WINDOW)

    def begin(self, first: Execution, waits: Mapping[int, int], traced_ns: int) -> None:
        """The first execution, which compiles: others that do take about as long.

        Arguments:
            first: the training's.
            waits: first step → input wait; where that of the first one is not known, nothing is
                learned of it.
            traced_ns: of it, for how long it was traced.
        """
        self.begins = False
        wait_ns = waits.get(first.first_step)
        if wait_ns is not None:
            compiled_ns = first.inside_ns - wait_ns - traced_ns
            self._least_ns = max(self._least_ns, SHARE_OF_FIRST * compiled_ns)

    def judged(
        self,
        executions: Sequence[Execution],
        waits: Mapping[int, int] | None,
        *,
        one_shape: bool = False,
    ) -> list[Execution]:
        """The executions with their final kind, and for how long those compiled that did.

        Arguments:
            executions: all, in their order.
            waits: first step → input wait, as far as it is known; None where it never is: then
                compiling cannot be told from waiting, and what takes so long may be either.
            one_shape: all batches so far had the same, so that none compiled anew.
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
        if one_shape:
            # Nor did the last one of an epoch, whose batch might have been a smaller one.
            kinds = {Kind.RECOMPILED: Kind.STEADY}
            return [e._replace(kind=kinds.get(e.kind, e.kind)) for e in executions]
        self.found += len(found)
        self.found_ns += sum(found.values())
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
            if len(self._newest) < ENOUGH or computing - fast < self._least_ns:
                continue
            if computing > MANY_TIMES * fast:
                found[execution.first_step] = round(computing - fast)
        return found
