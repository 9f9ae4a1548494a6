"""Splits steady executions into the parts of a step."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import quantiles

from keras_perf.observers.steps.computing import computing_ms
from keras_perf.observers.steps.input.gap_times import GAP_HISTORY, fetches_of
from keras_perf.observers.steps.input.measured_waits import (
    Measured,
    measured_waits,
    timed_waits,
    training_ns,
)
from keras_perf.observers.steps.known_dispatch import KnownDispatch
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.interval import Interval

REMEMBERED = 1000
"""Of so many executions, the newest ones, the time without input wait is kept."""

ENOUGH_EXECUTIONS = 20
"""Of fewer the quickest tenth says too little."""

ENOUGH_STRETCHES = 20
"""If so many are all too short to be measured, so will be those that follow."""

_STEADY = Kind.STEADY


class Splitter:
    """Sums executions; the iterator's gap times tell the input wait from the rest.

    tf.data records, for each `GetNext`, the time since the one before it ended: everything a
    step does but wait for input. A stretch is a run of consecutive steady executions on one
    iterator; over those whose gaps are remembered, input wait = begin to begin − gaps. The share
    found there is applied to the whole stretch.

    With several steps per execution the gaps inside one, but for the first, are the pure in-graph
    step. Keras asks for the next batch while a step computes: the first gap is empty then, and the
    last holds two steps. What all gaps exceed the steps by, less the host's own time, is dispatch.
    Of two steps it mostly cannot be told; of long ones, and of those that wait, not at all.

    Arguments:
        fetches_per_step: how often a step asks the iterator for an element.

    Attributes:
        waits: first step → input wait in nanoseconds, of the last stretch, as far as known.
    """

    def __init__(self, fetches_per_step: float = 1.0) -> None:
        self._fetches_per_step = fetches_per_step
        self._recent: deque[Execution] = deque(maxlen=GAP_HISTORY + 1)
        self._next_step = 0
        self._stretch_inside = 0
        self._stretch_executions = 0
        self._unmeasured_gaps = 0
        self._usual_ns = 0.0
        self._share: float | None = None
        self.waits: dict[int, int] = {}
        self._computing_ms: deque[float] = deque(maxlen=REMEMBERED)
        self._reset()

    def _reset(self) -> None:
        self._last_step = self._steps = self._executions = 0
        self._total = self._inside = self._callbacks = self._host = self._compile = 0
        self._collector = self._stretches = 0
        self._gaps_known = False
        self._measured_inside = self._measured_executions = self._told_executions = 0
        self._wait = self._dispatch = 0.0
        self._owners: dict[str, int] = {}

    @property
    def steps(self) -> int:
        """Steps summed since the last `take`."""
        return self._steps

    @property
    def undisturbed_ms(self) -> float | None:
        """What a step takes inside the train function where little keeps it from its core.

        Milliseconds without input wait; a tenth of the executions took no more. None of too few.

        What it cannot see: what disturbs all executions alike; where the host runs ahead of them,
        what disturbs one in thirty.
        """
        if len(self._computing_ms) < ENOUGH_EXECUTIONS:
            return None
        return quantiles(self._computing_ms, n=10)[0]

    def add(self, execution: Execution) -> None:
        """Adds a steady, traced or recompiled execution.

        Of the latter two, what exceeds the usual one is compile time where it does not say that.
        Where all trace, and none is usual, it is what each says that it traced at least.
        """
        # Each is taken out once: this runs for every execution.
        first, steps, kind, begin, _, ready, end, owners, collector, told_ns, _, _, traced_ns = (
            execution
        )
        inside, compile_ns = ready - begin, told_ns or 0
        if kind is not _STEADY and told_ns is None:
            self._unmeasured_gaps += fetches_of(steps, self._fetches_per_step)
            usual = round(self._usual_inside() * steps)
            compile_ns = max(0, inside - usual) if usual else min(inside, traced_ns or 0)
        else:
            if first != self._next_step:
                self._recent.clear()
            self._recent.append(execution)
            self._next_step = first + steps
            self._unmeasured_gaps = 0
        for owner, spent in owners:
            self._callbacks += spent
            self._owners[owner] = self._owners.get(owner, 0) + spent
        self._last_step = first + steps
        self._steps += steps
        self._executions += 1
        self._total += end - begin
        self._inside += inside - compile_ns
        self._host += end - ready
        if compile_ns or collector:
            self._compile += compile_ns
            self._collector += collector
        self._stretch_inside += inside - compile_ns
        self._stretch_executions += 1

    def _usual_inside(self) -> float:
        """Nanoseconds inside the train function per step, in this stretch or the last."""
        if self._recent:
            inside = sum(map(training_ns, self._recent))
            return inside / sum(e.steps for e in self._recent)
        return self._usual_ns

    def close_stretch(
        self,
        gaps_us: Sequence[int] | None,
        pending_gaps: int = 0,
        next_begin_ns: int | None = None,
    ) -> None:
        """Ends a stretch.

        Arguments:
            gaps_us: the iterator's gap times in microseconds, newest last; None where they
                cannot be had.
            pending_gaps: how many of the newest came after the last `GetNext` of this stretch.
            next_begin_ns: when the execution began that follows it on the same iterator, and has
                run; None where none follows.

        A stretch too short to be measured takes the share of the others in its interval.
        """
        self._usual_ns = self._usual_inside()
        self._stretches += self._stretch_executions > 0
        measured = self._measured(gaps_us, pending_gaps, next_begin_ns)
        self.waits = {} if measured is None else measured.waits
        if measured is not None:
            known = [e for e in self._recent if e.first_step in self.waits]
            self._computing_ms.extend(computing_ms(known, self.waits))
            self._measured_inside += self._stretch_inside
            self._wait += measured.wait_share * self._stretch_inside
            self._share = self._wait / max(1, self._measured_inside)
            self._measured_executions += self._stretch_executions
            if measured.dispatch_ns is not None:
                self._told_executions += self._stretch_executions
                self._dispatch += measured.dispatch_ns * self._stretch_executions
        self._recent.clear()
        self._stretch_inside = self._stretch_executions = self._unmeasured_gaps = 0

    def _measured(
        self, gaps_us: Sequence[int] | None, pending: int, next_begin_ns: int | None
    ) -> Measured | None:
        """Of this stretch, by its own clock or by the gaps; None where neither tells."""
        waits, timed = timed_waits(self._recent)
        if timed is not None:
            return Measured(timed, waits)
        if not self._gaps_known and any(e.steps > 1 for e in self._recent):
            # Of such no clock can tell; what was timed before says nothing of them.
            self._share = None
        if gaps_us is None or not self._stretch_executions:
            return None
        self._gaps_known = True
        if self._unmeasured_gaps:
            # What follows it directly is one that traced or compiled.
            pending, next_begin_ns = pending + self._unmeasured_gaps, None
        per_step, recent = self._fetches_per_step, list(self._recent)
        return measured_waits(recent, per_step, list(gaps_us), pending, next_begin_ns)

    def take(self, known: KnownDispatch | None = None, *, final: bool = False) -> Interval | None:
        """The interval since the last one, and a new beginning.

        Returns:
            None if there are no steps or they took no time, if a stretch has begun that is not
            closed, or if gap times are to be had but no stretch was long enough yet, but for
            many of them: then the steps wait for the next call.

        Arguments:
            known: dispatch, for intervals whose own gaps do not show it.
            final: no more will come.

        What was not measured takes the last share known.
        """
        none_measured = self._gaps_known and not self._measured_inside
        may_be_measured = none_measured and self._stretches < ENOUGH_STRETCHES
        waits_for_more = self._stretch_executions or may_be_measured
        # Of what a device is told to be done with at one moment, all but the first takes no time.
        if not self._total or (waits_for_more and not final):
            return None
        wait = None if self._share is None else round(self._share * self._inside)
        dispatch = None
        # Where most wait, it is the few that were late which seem to tell it.
        if 2 * self._told_executions > self._measured_executions:
            dispatch = round(self._dispatch / self._told_executions * self._executions)
        elif known is not None:
            dispatch = known.ns_of(self._inside, self._executions)
        if dispatch is not None:
            dispatch = min(dispatch, self._inside - (wait or 0))
        interval = Interval(
            last_step=self._last_step,
            steps=self._steps,
            executions=self._executions,
            total_ns=self._total,
            input_wait_ns=wait,
            compute_ns=self._inside - (wait or 0) - (dispatch or 0),
            dispatch_ns=dispatch,
            callbacks_ns=self._callbacks,
            other_host_ns=self._host - self._callbacks,
            compile_ns=self._compile,
            owners=dict(self._owners),
            collector_ns=self._collector,
        )
        self._reset()
        return interval
