"""Times what comes before steps are steady."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from keras_perf.records.execution import Execution
from keras_perf.records.run.times.start_up import StartUp


class StartUpTimes:
    """The first execution, what came before it, and what the rest of the warm-up waits for.

    Arguments:
        begun_ns: when the training began to be observed.
        traced_s: seconds that TensorFlow had traced by then; None where it does not tell.
    """

    def __init__(self, begun_ns: int, traced_s: float | None) -> None:
        self._begun_ns, self._traced_s = begun_ns, traced_s
        self._first: StartUp | None = None
        self._waited_ns: int | None = None
        self._compiled_ns = 0

    def add(
        self,
        executions: Iterable[Execution],
        waits: Mapping[int, int],
        traced_s: float | None,
        *,
        fetches_first: bool = False,
    ) -> None:
        """Executions of the warm-up, in their order.

        Arguments:
            executions: those that were completed since the last time.
            waits: first step → nanoseconds of its cycle that were not between two `GetNext`, where
                they are known.
            traced_s: seconds that TensorFlow has traced by now.
            fetches_first: an execution traces after its first `GetNext`, and not before.
        """
        for execution in executions:
            wait_ns = waits.get(execution.first_step)
            if self._first is None:
                self._first = self._begin(execution, wait_ns, traced_s, fetches_first)
                continue
            self._compiled_ns += execution.compile_ns or 0
            if wait_ns is not None:
                self._waited_ns = (self._waited_ns or 0) + wait_ns

    def _begin(
        self, first: Execution, wait_ns: int | None, traced_s: float | None, fetches_first: bool
    ) -> StartUp:
        """What was not between two `GetNext` has tracing in it that came before the first.

        Where the iterator itself was timed, tracing is no part of the wait.
        """
        whole_s = first.cycle_ns / 1e9
        traced = None
        if traced_s is not None and self._traced_s is not None:
            traced = min(whole_s, max(0.0, traced_s - self._traced_s))
        computing_s = None if wait_ns is None else whole_s - wait_ns / 1e9
        if computing_s is not None and (fetches_first or first.input_wait_ns is not None):
            computing_s -= traced or 0.0
        return StartUp(
            before_first_step_s=max(0, first.begin_ns - self._begun_ns) / 1e9,
            first_steps=first.steps,
            first_execution_s=whole_s,
            tracing_s=traced,
            computing_s=None if computing_s is None else max(0.0, computing_s),
        )

    def facts(self) -> StartUp | None:
        """What was timed; None before the first execution is complete."""
        if self._first is None:
            return None
        waited_s = None if self._waited_ns is None else self._waited_ns / 1e9
        compiled_s = self._compiled_ns / 1e9
        return replace(self._first, warmup_wait_s=waited_s, warmup_compiling_s=compiled_s)
