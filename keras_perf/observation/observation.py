"""What is observed of a training, whoever drives it: `fit`, or a loop of the user's own."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import keras

from keras_perf.capture.delayed_signals import PATIENCE_S, uninterrupted
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.listener import Director, Listener, Plan
from keras_perf.observation.machine_facts import machine_facts
from keras_perf.observation.model_facts import model_facts, trace_counter
from keras_perf.observation.pipeline_model import PipelineModel
from keras_perf.observation.run_record import Recording
from keras_perf.observers.asking import Questions
from keras_perf.observers.steps.garbage import GarbageWatch
from keras_perf.observers.steps.split import GAP_HISTORY, fetches_of
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.observers.trial.steps_choice import Bounds
from keras_perf.records.execution import Kind
from keras_perf.records.interval import Interval
from keras_perf.write.run_writer import RUN

WARMUP_STEPS = 10
WARMUP_EXECUTIONS = 3
"""Kept out of every figure: one is not enough, tf.data's autotune needs a few."""

MEASURABLE_EXECUTIONS = 3
"""In a stretch of fewer the input wait cannot be told from the iterator's gap times."""

INTERVAL_S = 0.5
"""Seconds of training between two points."""

_STEADY, _TRACED, _WARMUP = Kind.STEADY, Kind.TRACED, Kind.WARMUP


def harmless(work: Callable[..., None]) -> Callable[..., None]:
    """What the driver of an observation calls between executions: it raises nothing of ours."""

    @functools.wraps(work)
    def guarded(self: Observation, *arguments: Any, **named: Any) -> None:
        try:
            work(self, *arguments, **named)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self.gives_up(error)

    return guarded


class Observation:
    """One timeline, and the listeners that are told of it, while one training runs.

    Whoever drives the training is a subclass. It calls `begin` before each execution and
    `returned` after it, `interrupt` where something else than training follows, and `close`.

    Attributes:
        model: being trained.
        now: the clock of all its times, in nanoseconds.
        timeline: fed here and by the driver.
        step: optimizer steps before the next execution.
        first_step: optimizer steps before this training.
        batch: steps since the epoch began, or since the last interruption.
        steps_per_execution: of an ordinary execution.
        fetches_per_step: how often a step asks the iterator for an element.
        mid_epoch: more executions may follow without an interruption.
        epochs: number of epochs asked for, where that is known.
        epoch_steps: steps of a whole epoch, as far as they are known.
        input_kind: `tf.data`, `arrays`, `PyDataset`, `generator`, or None if it is not known.
        pipeline: tf.data's model behind the iterator.
        whole_executions: an epoch is rounded up to whole executions.
        dispatch_share: how much of the train function's time is entering and leaving it, once a
            trial has told.
        recording: where listeners write.
        traces: how often TensorFlow has traced the train function.
        diagnoses: the diagnosis is written at the end.
    """

    epochs_are_called = "epochs"

    def __init__(
        self,
        model: keras.Model,
        function: Any,
        steps_per_execution: int,
        *,
        clock: Callable[[], int],
        first_step: int = 0,
        fetches_per_step: float = 1.0,
        run: str = RUN,
    ) -> None:
        self.model = model
        self.now = clock
        self.timeline = Timeline()
        self.first_step = self.step = first_step
        self.batch = 0
        self.fetches_per_step = fetches_per_step
        self.mid_epoch = False
        self.epochs: int | None = None
        self.epoch_steps: int | None = None
        self.whole_executions = False
        self.input_kind: str | None = None
        self.pipeline: PipelineModel | None = None
        self.dispatch_share: float | None = None
        self.recording = Recording(run, self._facts)
        self.diagnoses = True
        self.closed = False
        self._closing = threading.Lock()
        self._interval_ns = round(INTERVAL_S * 1e9)
        self._interval_begin = self._begun = self.now()
        self._interval_measured = False
        self._listeners: list[Listener] = []
        self._directors: tuple[Director, ...] = ()
        self._warned: list[Listener] = []
        self._executions = self._held_fetches = self._stretch_fetches = 0
        self._stretch_limit = 0
        self.steps_per_execution = steps_per_execution
        self._warm_executions = _executions_of_warmup(steps_per_execution)
        self._runs(function)
        self._garbage = GarbageWatch(clock, self.timeline.collected)

    # -- what only the driver knows ------------------------------------------------------

    @property
    def shapes_differ(self) -> bool:
        """XLA compiles the steps, and batches may differ in more than their number of rows."""
        return False

    @property
    def room_steps(self) -> int | None:
        """Steps from one interruption to the next, as far as they are known."""
        return self.epoch_steps

    @property
    def steps_left(self) -> int:
        """Steps until training ends."""
        raise NotImplementedError

    @property
    def extra_traces(self) -> int:
        """What was traced for trials."""
        return 0

    @property
    def tracing_s(self) -> float:
        """Seconds that took."""
        return 0.0

    def settings(self) -> Questions:
        """What the driver adds to the context record: name → what is asked."""
        raise NotImplementedError

    def _facts(self) -> Questions:
        """What is known of a training without measuring: versions, settings, sizes."""
        return {
            **machine_facts(),
            **model_facts(self.model),
            "steps_per_execution": lambda: self.steps_per_execution,
            "input_kind": lambda: self.input_kind,
            "shapes_differ": lambda: self.shapes_differ,
            "first_step": lambda: self.first_step,
            "last_step": lambda: self.step,
            "epoch_steps": lambda: self.epoch_steps,
            "epochs": lambda: self.epochs,
            **self.settings(),
        }

    def examples_per_step(self) -> float | None:
        """Examples in a step, where they are known; asked while the device is idle."""
        return None

    def exchanged(self, interval: Interval) -> Mapping[str, float]:
        """Tag → value of what several workers spent on exchanging gradients."""
        return {}

    def bounds(self, limit: int, max_execution_s: float) -> Bounds:
        """What limits the number of steps per execution, beside the user's own bounds."""
        return Bounds(limit, max_execution_s, self.epoch_steps, self.whole_executions)

    def reason_not_to_try(self) -> str | None:
        """Why no other number of steps per execution can be tried, or None."""
        raise NotImplementedError

    def called_less_often(self) -> list[str]:
        """The user's host work that more steps per execution would do less often."""
        return []

    def at_most(self, steps: int) -> int:
        """How many of so many steps the next executions can run without an interruption."""
        raise NotImplementedError

    def refuses(self, steps: int) -> str | None:
        """Makes ready for executions of so many steps; why that cannot be, or None."""
        return None

    def longer(self, plan: Plan, steps: int, kind: Kind) -> Plan:
        """The plan for so many steps, which are ready."""
        return plan._replace(steps=steps, kind=kind)

    # -- who listens ---------------------------------------------------------------------

    def add(self, listener: Listener) -> None:
        """Tells `listener` from now on."""
        self._listeners.append(listener)
        if isinstance(listener, Director):
            self._directors += (listener,)

    # -- the hot path --------------------------------------------------------------------

    def _runs(self, function: Any) -> None:
        """Ordinary executions are calls of this function."""
        self._ordinary = Plan(function, self.steps_per_execution, _STEADY)
        self._count_traces = trace_counter(function)
        self.traces = self._count_traces()

    def begin(self, iterator: Any) -> Plan:
        """The next execution begins now; how it is to be run."""
        entry = self.now()
        plan = self._plan(iterator, entry)
        self._begun = self.now()
        self.timeline.begin(entry, self._begun, self.step, plan.steps, plan.kind)
        return plan

    def returned(self, plan: Plan, *, unseen: bool = False) -> None:
        """The execution has run; `unseen`, if its function may have returned long before."""
        self.timeline.returned(self._begun if unseen else self.now())
        self._executions += 1
        self.step += plan.steps
        self.batch += plan.steps
        self._held_fetches = self._fetches(plan.steps)
        if plan.kind is _STEADY:
            self._stretch_fetches += self._held_fetches
        if (traces := self._count_traces()) != self.traces:
            self.traces = traces
            if plan.kind is _STEADY:
                self.timeline.retag(_TRACED)

    def usual_length(self, steps: int) -> None:
        """From now on an ordinary execution runs so many steps."""
        self.steps_per_execution = steps
        if not self._executions:
            self._warm_executions = _executions_of_warmup(steps)

    def _fetches(self, steps: int) -> int:
        return fetches_of(steps, self.fetches_per_step)

    def _plan(self, iterator: Any, now: int) -> Plan:
        """What the next execution is, after the work that is due between two executions."""
        if self.pipeline is None or self.pipeline.iterator is not iterator:
            self.pipeline = PipelineModel(iterator)
        if self._executions == self._warm_executions:
            self._interval_begin = now
        if now - self._interval_begin > self._interval_ns and self._interval_tells():
            self._end_interval(self._held_fetches, now)
        elif self._stretch_fetches >= self._stretch_limit:
            self._end_stretch(self._held_fetches)
        plan = self._ordinary
        if self._executions < self._warm_executions:
            plan = plan._replace(kind=_WARMUP)
        for director in self._directors:
            try:
                plan = director.direct(plan)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self.drop(director, error)
        if plan.kind is not _STEADY:
            self._end_stretch(self._held_fetches)
        return plan

    def _interval_tells(self) -> bool:
        """It has a stretch long enough to be measured, or none that may still become so."""
        return self._interval_measured or not 0 < self._stretch_fetches < self._measurable()

    def _measurable(self) -> int:
        """Fetches of a stretch in which the input wait can be told from the gaps."""
        return self._fetches(MEASURABLE_EXECUTIONS * self.steps_per_execution)

    def _longest_stretch(self) -> int:
        """Fetches after which tf.data is asked: before it forgets, and once within an epoch.

        An epoch whose end is not known may end soon after each time it was asked.
        """
        fetches = self._measurable()
        longest = max(GAP_HISTORY - fetches, fetches)
        within = self.epoch_steps // 2 if self.epoch_steps else self.batch
        return min(longest, max(fetches, self._fetches(within)))

    # -- what happens between executions -------------------------------------------------

    def tell_executions(self) -> None:
        """Tells of the executions and epoch gaps completed since the last time.

        No execution of the next epoch is complete when the gap before it ends.
        """
        for gap in self.timeline.take_gaps():
            self._tell("epoch_gap_ends", gap)
        if completed := self.timeline.take():
            self._tell("executions", completed)

    def _end_stretch(self, pending_gaps: int | None) -> None:
        self.tell_executions()
        if self._stretch_fetches:
            if self._stretch_fetches >= self._measurable():
                self._interval_measured = True
            self._stretch_fetches = 0
            self._stretch_limit = self._longest_stretch()
            self._tell("stretch_ends", self.pipeline, pending_gaps)

    def _end_interval(self, pending_gaps: int | None, now: int) -> None:
        self._end_stretch(pending_gaps)
        self._interval_begin, self._interval_measured = now, False
        self._tell("interval_ends", self.step, time.time(), self.closed)

    def _tell(self, what: str, *arguments: Any, **named: Any) -> None:
        """Tells every listener; one that fails is told no more, and training goes on."""
        for listener in tuple(self._listeners):
            try:
                getattr(listener, what)(*arguments, **named)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self.fails(listener, error)

    def fails(self, listener: Listener, error: Exception) -> None:
        """What a listener was doing has failed.

        A warning that Python was told to make an error (`-W error`) costs no more than that.
        """
        if not isinstance(error, Warning):
            self.drop(listener, error)
        elif listener not in self._warned:
            self._warned.append(listener)
            name = type(listener).__name__
            warn_of(error, name, "what it was about to log is missing; it stays on")

    def drop(self, listener: Listener, error: Exception) -> None:
        """A listener has failed: it is told no more, and gives back what it holds."""
        if listener not in self._listeners:
            return
        self.stop_directing(listener)
        name = type(listener).__name__
        warn_of(error, name, "it is off for the rest of this training, its values are missing")
        self._end_listener(listener, aborted=True)

    def _end_listener(self, listener: Listener, *, aborted: bool) -> None:
        """Tells it that all is over; only once, whatever comes of it."""
        if listener not in self._listeners:
            return
        self._listeners.remove(listener)
        try:
            listener.observation_ends(aborted)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, f"ending {type(listener).__name__}", "it may hold on to something")

    def stop_directing(self, listener: Listener) -> None:
        """It is not asked about executions any more, only told."""
        self._directors = tuple(d for d in self._directors if d is not listener)

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
                None if that is not known.
            validates: what follows is an evaluation.
            missing_steps: how many fewer steps the last execution ran.
            may_have_compiled: the last execution, if steady, may have compiled for its shape.
        """
        self.timeline.flush(missing_steps, may_have_compiled=may_have_compiled)
        self._end_stretch(pending_gaps)
        self._tell("epoch_ends", validates=validates)

    def close(self, *, aborted: bool = False) -> None:
        """Gives back what the driver took, writes what is left; again calls do nothing.

        Ctrl-C waits until that is done, for PATIENCE_S at most. After an interrupt inside, by
        whatever means, all is given back too, and what was not written yet is missing.
        """
        with uninterrupted(PATIENCE_S):
            with self._closing:
                if self.closed:
                    return
                self.closed = True
            with ExitStack() as files:
                files.callback(self._harmlessly, self.recording.close)
                with ExitStack() as listeners:
                    listeners.callback(self._end_listeners, aborted=aborted)
                    with ExitStack() as taken:
                        taken.callback(self._garbage.stop)
                        taken.callback(self._harmlessly, self._give_back)
                    self._harmlessly(self._tell_the_rest)
                self._harmlessly(self.recording.finish, self.step, diagnoses=self.diagnoses)

    def gives_up(self, error: Exception) -> None:
        """Observing itself has failed: it ends, and training goes on."""
        warn_of(error, "observing", "the rest of this training is not observed")
        self.close(aborted=True)

    def _harmlessly(self, work: Callable[..., None], *arguments: Any, **named: Any) -> None:
        try:
            work(*arguments, **named)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "writing the end of the run", "what was logged before remains")

    def _tell_the_rest(self) -> None:
        self.timeline.flush()
        self.timeline.close(self.now())
        self._end_stretch(None)
        self._tell("executions_end")
        self._end_interval(None, self.now())

    def _end_listeners(self, *, aborted: bool) -> None:
        """In their order; each is told, also if one before it is interrupted."""
        with ExitStack() as each:
            for listener in reversed(self._listeners):
                each.callback(self._end_listener, listener, aborted=aborted)

    def _give_back(self) -> None:
        """Leaves the model and all else as they were."""


def _executions_of_warmup(steps_per_execution: int) -> int:
    return max(WARMUP_EXECUTIONS, -(-WARMUP_STEPS // steps_per_execution))
