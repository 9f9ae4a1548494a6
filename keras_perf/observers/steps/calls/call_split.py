"""Splits one evaluation or prediction into its parts."""

from __future__ import annotations

from collections.abc import Sequence

from keras_perf.observers.steps.split import Splitter
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.inference import CALL_PARTS

HOLD_IT = ("compute", "compile", "dispatch")
"""Parts that the wait for input lies in, where it was measured beside the executions."""


class CallSplit:
    """The parts of a call, in nanoseconds.

    Executions that traced are added last, when it is known what the others take: what exceeds
    that is compiling.

    Arguments:
        begin_ns: when the call began.

    Attributes:
        executions, steps: how many there were.
    """

    def __init__(self, begin_ns: int) -> None:
        self._begin_ns = begin_ns
        self._splitter = Splitter()
        self._traced: list[Execution] = []
        self._first_ns: int | None = None
        self.executions = self.steps = 0

    def add(self, executions: Sequence[Execution]) -> None:
        """Those that are complete, in their order."""
        for execution in executions:
            self._first_ns = self._first_ns or execution.begin_ns
            self.executions += 1
            self.steps += execution.steps
            if execution.kind is Kind.TRACED:
                self._traced.append(execution)
            else:
                self._splitter.add(execution)

    def close_stretch(self, gaps_us: Sequence[int] | None, pending_gaps: int) -> None:
        """See `Splitter.close_stretch`."""
        self._splitter.close_stretch(gaps_us, pending_gaps)

    def end(self, end_ns: int, *, waited_ns: int | None, hooks_ns: int) -> dict[str, int]:
        """Part → nanoseconds; they add up to the call.

        Arguments:
            end_ns: when the call ended.
            waited_ns: the input wait, where it was measured beside the executions; it lies in them.
            hooks_ns: callbacks' time outside of the executions.
        """
        for execution in self._traced:
            self._splitter.add(execution)
        total = end_ns - self._begin_ns
        found = self._splitter.take(final=True)
        if found is None or self._first_ns is None:
            return {"callbacks": hooks_ns, "other_host": max(0, total - hooks_ns)}
        parts = {
            "starting": self._first_ns - self._begin_ns,
            "input_wait": found.input_wait_ns,
            "compute": found.compute_ns,
            "dispatch": found.dispatch_ns,
            "callbacks": found.callbacks_ns + hooks_ns,
            "compile": found.compile_ns,
        }
        known = {part: ns for part, ns in parts.items() if ns is not None}
        if waited_ns is not None:
            _move_wait(known, waited_ns)
        known["other_host"] = max(0, total - sum(known.values()))
        return {part: known[part] for part in CALL_PARTS if part in known}


def _move_wait(parts: dict[str, int], waited_ns: int) -> None:
    """The wait for input becomes a part of its own: no more of it than there is where it lies."""
    parts["input_wait"], left_ns = 0, waited_ns
    for part in HOLD_IT:
        moved_ns = min(left_ns, parts.get(part, 0))
        if moved_ns:
            parts[part] -= moved_ns
            parts["input_wait"] += moved_ns
            left_ns -= moved_ns
