"""Steps that compute for far longer than the quickest of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median, quantiles

from keras_perf.observers.steps.computing import computing_ms
from keras_perf.records.execution import Execution

DISTURBED = 2.5
"""Steps that take so many times as long as the quickest tenth do something else than compute."""

ENOUGH = 64
"""Executions, the newest ones, that are looked at."""


class VaryingCompute:
    """Finds steps most of which compute for far longer than the quickest tenth.

    XLA may compile in them, also where Keras does not ask for it: a function of the user's, or what
    TensorFlow puts together by itself. A trace tells.

    What it cannot see: what makes all of them alike longer.
    """

    def __init__(self) -> None:
        self._newest_ns: deque[float] = deque(maxlen=ENOUGH)
        self._steps = 0

    @property
    def enough(self) -> bool:
        """So many that they can be judged."""
        return len(self._newest_ns) == ENOUGH

    def add(self, executions: Iterable[Execution], waits: Mapping[int, int]) -> float:
        """How many times as long as the quickest tenth the newest compute, 0 if that is usual.

        Arguments:
            executions: the next ones, steady.
            waits: first step → nanoseconds that it waited for its input, as far as known.
        """
        known = [each for each in executions if each.first_step in waits and not each.collector_ns]
        for each, step_ms in zip(known, computing_ms(known, waits), strict=True):
            if each.steps != self._steps:
                # Others are not alike.
                self._newest_ns.clear()
                self._steps = each.steps
            self._newest_ns.append(max(1.0, 1e6 * step_ms * each.steps))
        if not self.enough:
            return 0.0
        times = median(self._newest_ns) / quantiles(self._newest_ns, n=10)[0]
        return times if times > DISTURBED else 0.0
