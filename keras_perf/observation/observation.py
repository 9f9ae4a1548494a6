"""What is observed of a training, whoever drives it: `fit`, or a loop of the user's own."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import keras

from keras_perf.observation.backend import Backend
from keras_perf.observation.completed_executions import Completed
from keras_perf.observation.failure_line import ends_harmlessly, warn_of
from keras_perf.observation.listener import Plan
from keras_perf.observation.listeners import Audience
from keras_perf.observation.observed_training import ObservedTraining
from keras_perf.observation.trials import Trials
from keras_perf.observation.warmup_and_intervals import Over, Pace
from keras_perf.observers.delayed_signals import PATIENCE_S, uninterrupted
from keras_perf.observers.sensors.core_wait import OwnTime
from keras_perf.observers.steps.garbage import CollectorPauses
from keras_perf.observers.steps.tracing_in_a_row import TracingInARow
from keras_perf.records.execution import Kind
from keras_perf.records.interval import Interval
from keras_perf.records.run.ending import Ending, How
from keras_perf.records.run_names import RUN

_STEADY, _TRACED, _WARMUP = Kind.STEADY, Kind.TRACED, Kind.WARMUP


class Observation(ObservedTraining):
    """One timeline, and the audience that is told of it, while one training runs.

    Whoever drives the training is a subclass. It calls `begin` before each execution and
    `returned` after it, `interrupt` where something else than training follows, and `close`.

    Attributes:
        now: the clock of all its times, in nanoseconds.
        timeline: fed here and by the driver.
        audience: who is told.
        pace: when warm-up, stretches and intervals are over.
        trials: what the training allows for trials of other numbers of steps per execution.
        batch: steps since the epoch began, or since the last interruption.
        mid_epoch: more executions may follow without an interruption.
        diagnoses: the diagnosis is written at the end.
    """

    trials: Trials

    def __init__(
        self,
        model: keras.Model,
        backend: Backend,
        function: Any,
        steps_per_execution: int,
        *,
        clock: Callable[[], int],
        first_step: int = 0,
        fetches_per_step: float = 1.0,
        run: str = RUN,
    ) -> None:
        super().__init__(model, backend, steps_per_execution, fetches_per_step, first_step, run)
        self.now = clock
        self.timeline = backend.timeline
        self.audience = Audience()
        self.batch, self.mid_epoch, self.diagnoses = 0, False, True
        self.closed, self._closing, self._process = False, threading.Lock(), os.getpid()
        self._begun = clock()
        self.pace = Pace(steps_per_execution, fetches_per_step, self._begun)
        self._completed = Completed(
            self.timeline,
            self.audience,
            fetches_per_step,
            lambda: self.shapes_may_differ,
            self.batch_bytes,
            self.recompile_guess,
            backend.traced_s,
        )
        self._tracing = TracingInARow(backend.traced_s)
        self._runs(function)
        self._collector, self._own = CollectorPauses(clock, self.timeline.collected), OwnTime()

    def _function_asked(self) -> Any:
        return self._ordinary.function

    @property
    def fetches_before_tracing(self) -> bool:
        """An execution asks for its batch before it can be traced for it."""
        return self.backend.fetches_before_tracing(self._ordinary.function)

    def exchanged(self, interval: Interval) -> Mapping[str, float]:
        """Tag → value of what several workers spent on exchanging gradients."""
        return {}

    # -- the hot path --------------------------------------------------------------------

    def _runs(self, function: Any) -> None:
        """Ordinary executions are calls of this function."""
        self._ordinary = Plan(function, self.steps_per_execution, _STEADY)
        self._count_traces = self.backend.trace_counter(function)
        self.traces = self._count_traces()

    def begin(self, iterator: Any) -> Plan:
        """The next execution begins now; how it is to be run."""
        entry = self.now()
        plan = self._plan(iterator, entry)
        self._begun = self.now()
        self.timeline.begin(entry, self._begun, self.step, plan.steps, plan.kind)
        if plan.steps > 1:
            self._own.begin()
        return plan

    def returned(self, plan: Plan, *, unseen: bool = False) -> None:
        """The execution has run; `unseen`, if its function may have returned long before."""
        own_ns = self._own.take() if plan.steps > 1 else 0
        self.timeline.returned(self._begun if unseen else self.now(), own_ns)
        self.pace.returned(plan)
        self.step += plan.steps
        self.batch += plan.steps
        if (traces := self._count_traces()) != self.traces:
            self.traces = traces
            traced_ns = self._tracing.traced(self.step - plan.steps, plan.steps)
            if plan.kind is _STEADY:
                self.timeline.retag(_TRACED, traced_ns)

    def _plan(self, iterator: Any, now: int) -> Plan:
        """What the next execution is, after the work that is due between two executions."""
        is_read = self.pipeline is not None and self.pipeline.iterator is iterator
        if not is_read and self.reads(iterator):
            self.timeline.keep_input()
        pace = self.pace
        if (over := pace.over(now)) is Over.STRETCH:
            self._end_stretch(pace.held_fetches)
        elif over is Over.INTERVAL:
            self._end_interval(pace.held_fetches, now)
        elif pace.short_epochs and self.batch:
            self.audience.tell("within_short_epoch", self.pipeline)
        plan = self._ordinary
        if pace.warmup_left > 0:
            plan = plan._replace(kind=_WARMUP)
        plan = self.audience.direct(plan, self._tell_completed)
        if plan.kind is not _STEADY:
            self._end_stretch(pace.held_fetches)
        return plan

    def _tell_completed(self) -> None:
        self._completed.tell(self.pipeline, self.pace.held_fetches)

    # -- what happens between executions -------------------------------------------------

    def _end_stretch(self, pending_gaps: int | None) -> None:
        self._completed.tell(self.pipeline, pending_gaps)
        if self.pace.stretch_fetches:
            self.pace.end_stretch(holds=self.timeline.begun_ns is not None)
            self.pace.limit_stretch(self.epoch_steps, self.batch)
            self.audience.tell("stretch_ends", self.pipeline, pending_gaps)

    def _end_interval(self, pending_gaps: int | None, now: int) -> None:
        self._end_stretch(pending_gaps)
        self.pace.begin_interval(now)
        self.audience.tell("interval_ends", self.step, time.time(), self.closed)

    def interrupt(
        self,
        pending_gaps: int | None,
        *,
        validates: bool = False,
        missing_steps: int = 0,
        may_have_compiled: bool = False,
    ) -> None:
        """The executions are interrupted by something else, which may be the end of an epoch.

        Arguments:
            pending_gaps: how many of tf.data's newest gap times came after the last execution;
                None if unknown.
            validates: what follows is an evaluation.
            missing_steps: how many fewer steps the last execution ran.
            may_have_compiled: the last execution, if steady, may have compiled for its shape.
        """
        self.timeline.flush(missing_steps, may_have_compiled=may_have_compiled)
        self.tell_between_epochs(lambda: self._end_stretch(pending_gaps), validates=validates)

    def tell_between_epochs(self, before: Callable[[], None], *, validates: bool) -> None:
        """Does `before` and tells that steps have ended; what it takes is no time of the gap's.

        A capture may be saved meanwhile, which is nothing that training would do.
        """
        begin = self.now()
        before()
        self.audience.tell("epoch_ends", validates=validates)
        self.timeline.observed_ns(self.now() - begin)

    def close(self, *, aborted: bool = False, ending: Ending | None = None) -> None:
        """Gives back what the driver took, writes what is left; again calls do nothing.

        The rest is told; what was taken is given back; listeners end; context and diagnosis are
        written; files are closed: each whatever fails before it. Ctrl-C waits for that, for
        PATIENCE_S at most. After an interrupt inside all is given back too, but no more written.
        In a copy of the process (`os.fork`), which has none of its threads, nothing is done.

        Arguments:
            aborted: training has raised, or is observed no longer.
            ending: how it has raised; None where it goes on.
        """
        if os.getpid() != self._process:
            return
        with uninterrupted(PATIENCE_S):
            with self._closing:
                if self.closed:
                    return
                # Who has stopped the training does not wait for it.
                self.closed, self.work.due = True, not aborted
            with ExitStack() as files:
                files.callback(self._lets_go)
                files.callback(ends_harmlessly, self.recording.close)
                self.recording.ends(ending if aborted else Ending(How.DONE))
                with ExitStack() as listeners:
                    listeners.callback(self.audience.end, aborted=aborted)
                    with ExitStack() as taken:
                        taken.callback(ends_harmlessly, self._collector.stop)
                        taken.callback(ends_harmlessly, self._own.close)
                        taken.callback(ends_harmlessly, self.backend.release)
                        taken.callback(ends_harmlessly, self._give_back)
                    ends_harmlessly(self._tell_the_rest, aborted=aborted)
                ends_harmlessly(self.recording.finish, self.step, diagnoses=self.diagnoses)

    def _lets_go(self) -> None:
        """All has ended: what is the user's is held no longer."""

    def fails(self, error: Exception) -> None:
        """Observing itself has failed: it ends, and training goes on."""
        warn_of(error, "observing", "the rest of this training is not observed")
        self.close(aborted=True)

    def _tell_the_rest(self, *, aborted: bool) -> None:
        if not self.mid_epoch:
            self.timeline.flush()
        self.timeline.close(self.now())
        # An epoch that was cut off is followed by no gap.
        self.timeline.flush()
        self._end_stretch(None)
        self.audience.tell("executions_end")
        self._end_interval(None, self.now())

    def _give_back(self) -> None:
        """Leaves the model and all else as they were."""
