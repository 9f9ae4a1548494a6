"""The one observation of a running `fit`, shared by all of our callbacks on it."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_perf.callbacks.iterators import PipelineModel
from keras_perf.callbacks.listener import Director, Listener, Plan
from keras_perf.callbacks.model_facts import (
    counts_every_step,
    kind_of_input,
    optimizer_iterations,
    trace_counter,
)
from keras_perf.callbacks.recording import Recording
from keras_perf.callbacks.relay import CallbackRelay, fit_arguments
from keras_perf.callbacks.warning import warn_of
from keras_perf.observers.garbage import GarbageWatch
from keras_perf.observers.split import GAP_HISTORY
from keras_perf.observers.timeline import Timeline
from keras_perf.records.execution import Kind
from keras_perf.trials.train_function import TrainFunction

WARMUP_STEPS = 10
WARMUP_EXECUTIONS = 3
"""Kept out of every figure: one is not enough, tf.data's autotune needs a few."""

INTERVAL_S = 0.5
"""Seconds of training between two points."""

_clock = time.perf_counter_ns

_STEADY, _TRACED, _WARMUP = Kind.STEADY, Kind.TRACED, Kind.WARMUP


class Observation:
    """Wraps the model's train function and the callback list for the time of one `fit`.

    Attributes:
        model: being trained.
        timeline: fed by the wrapper and the relay.
        step: optimizer steps before the next execution.
        first_step: optimizer steps before this `fit`.
        batch: index in the epoch of the next execution's first step.
        epochs: number of epochs asked for, where Keras tells.
        epoch_steps: steps of a whole epoch; None until Keras or the first epoch has told.
        epochs_differ: epochs were not all of one length.
        input_kind: `tf.data`, `arrays`, `PyDataset`, `generator`, or None if it is not known.
        whole_executions: Keras rounds an epoch up to whole executions, where the data allow it.
        dispatch_share: how much of the train function's time is entering and leaving it, once a
            trial has told.
        known_steps: steps of an epoch as Keras told them before the first one, or None.
        recording: where listeners write.
        traces: how often TensorFlow has traced the train function.
    """

    def __init__(
        self,
        model: keras.Model,
        callbacks: keras.callbacks.CallbackList | None,
        when_closed: Callable[[Observation], None],
    ) -> None:
        self.model = model
        self._when_closed = when_closed
        self.timeline = Timeline()
        self.steps_per_execution = int(model.steps_per_execution)
        self.first_step = self.step = optimizer_iterations(model) or 0
        self.batch = 0
        params = callbacks.params if callbacks is not None else {}
        epochs = params.get("epochs")
        self.epochs: int | None = None if epochs is None else int(epochs)
        steps = params.get("steps")
        self.epoch_steps: int | None = None if steps is None else int(steps)
        self.known_steps = self.epoch_steps
        self._epoch_iterations: int | None = None
        self.epochs_differ = False
        arguments = fit_arguments()
        self.whole_executions = arguments.get("steps_per_epoch") is not None
        self.input_kind = kind_of_input(arguments.get("x"))
        self.pipeline: PipelineModel | None = None
        self.dispatch_share: float | None = None
        self.recording = Recording()
        self.armed = callbacks is None
        self.closed = False
        self._closing = threading.Lock()
        self._warmup = max(WARMUP_EXECUTIONS, -(-WARMUP_STEPS // self.steps_per_execution))
        self._interval_ns = round(INTERVAL_S * 1e9)
        self._interval_begin = _clock()
        self._listeners: list[Listener] = []
        self._directors: tuple[Director, ...] = ()
        self._executions = self._held_steps = self._stretch_steps = 0
        self._epochs_done = 0
        self._epoch_open = self._exhausted = False
        self._answers_left = 0
        self._answer: Any = None
        self._stretch_limit = 0
        self._function: TrainFunction = model.train_function
        self._ordinary = Plan(self._function, self.steps_per_execution, _STEADY)
        self._count_traces = trace_counter(self._function)
        self.traces = self._count_traces()
        self._wrapper: TrainFunction = self._execute
        model.train_function = self._wrapper
        self._list = weakref.ref(callbacks) if callbacks is not None else lambda: None
        self._relay = CallbackRelay(callbacks, self) if callbacks is not None else None
        self._garbage = GarbageWatch(_clock, self.timeline.collected)

    # -- who listens ---------------------------------------------------------------------

    def add(self, listener: Listener) -> None:
        """Tells `listener` from now on."""
        self._listeners.append(listener)
        if isinstance(listener, Director):
            self._directors += (listener,)

    def is_of(self, callbacks: keras.callbacks.CallbackList | None) -> bool:
        """It observes the `fit` that these callbacks are called from."""
        return self._list() is callbacks

    @property
    def mid_epoch(self) -> bool:
        """More executions of the epoch may follow."""
        return self._epoch_open

    @property
    def answering(self) -> bool:
        """Keras is being answered for steps that have already run."""
        return self._answers_left > 0

    @property
    def relayed(self) -> bool:
        """The callback list was found: its end is told and its callbacks are timed."""
        return self._relay is not None

    @property
    def batch_hooks(self) -> list[tuple[keras.callbacks.Callback, str]]:
        """Every callback with a batch hook of its own, with `Class.hook`."""
        return self._relay.batch_hooks if self._relay is not None else []

    # -- the hot path --------------------------------------------------------------------

    def _execute(self, iterator: Any) -> Any:
        """In place of the model's train function."""
        if not self.armed:
            # Not called by the loop that our relay is in, but by train_on_batch in somebody's
            # callback, say, or by another `fit` after this one was interrupted.
            return self._function(iterator)
        self.armed = not self.relayed
        if self._answers_left:
            self._answers_left -= 1
            return self._answer
        entry = _clock()
        plan = self._plan(iterator, entry)
        begin = _clock()
        self.timeline.begin(entry, begin, self.step, plan.steps, plan.kind)
        try:
            if plan.around is None:
                logs = plan.function(iterator)
            else:
                with plan.around:
                    logs = plan.function(iterator)
        except (StopIteration, tf.errors.OutOfRangeError):
            self.timeline.discard()
            self._exhausted = True
            raise
        except BaseException:
            self.timeline.discard()
            self.close(aborted=True)
            raise
        self.timeline.returned(_clock())
        self._executions += 1
        self.step += plan.steps
        self.batch += plan.steps
        self._held_steps = plan.steps
        if plan.kind is _STEADY:
            self._stretch_steps += plan.steps
        if plan.answers:
            self._answer, self._answers_left = logs, plan.answers
        if (traces := self._count_traces()) != self.traces:
            self.traces = traces
            if plan.kind is _STEADY:
                self.timeline.retag(_TRACED)
        return logs

    def _plan(self, iterator: Any, now: int) -> Plan:
        """What the next execution is, after the work that is due between two executions."""
        if self.pipeline is None or self.pipeline.iterator is not iterator:
            self.pipeline = PipelineModel(iterator)
        if self._executions == self._warmup:
            self._interval_begin = now
        if now - self._interval_begin > self._interval_ns:
            self._end_interval(self._held_steps, now)
        elif self._stretch_steps >= self._stretch_limit:
            self._end_stretch(self._held_steps)
        plan = self._ordinary
        if self._executions < self._warmup:
            plan = plan._replace(kind=_WARMUP)
        for director in self._directors:
            try:
                plan = director.direct(plan)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self.drop(director, error)
        if plan.kind is not _STEADY:
            self._end_stretch(self._held_steps)
        return plan

    def _longest_stretch(self) -> int:
        """Steps after which tf.data is asked: before it forgets, and once within an epoch.

        An epoch whose end is not known may end soon after each time it was asked.
        """
        steps = 3 * self.steps_per_execution
        longest = max(GAP_HISTORY - steps, steps)
        within = self.epoch_steps // 2 if self.epoch_steps else self.batch
        return min(longest, max(steps, within))

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
        if self._stretch_steps:
            self._stretch_steps = 0
            self._stretch_limit = self._longest_stretch()
            self._tell("stretch_ends", self.pipeline, pending_gaps)

    def _end_interval(self, pending_gaps: int | None, now: int) -> None:
        self._end_stretch(pending_gaps)
        self._interval_begin = now
        self._tell("interval_ends", self.step, time.time(), self.closed)

    def _tell(self, what: str, *arguments: Any, **named: Any) -> None:
        """Tells every listener; one that fails is told no more, and training goes on."""
        for listener in tuple(self._listeners):
            try:
                getattr(listener, what)(*arguments, **named)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self.drop(listener, error)

    def drop(self, listener: Listener, error: Exception) -> None:
        """A listener has failed: it is told no more, and gives back what it holds."""
        if listener not in self._listeners:
            return
        self._listeners.remove(listener)
        self.stop_directing(listener)
        name = type(listener).__name__
        warn_of(error, name, "it is off for the rest of this fit and its values are missing")
        try:
            listener.observation_ends(True)
        except Exception as second:  # noqa: BLE001
            warn_of(second, f"ending {name}", "it may hold on to something")

    def stop_directing(self, listener: Listener) -> None:
        """It is not asked about executions any more, only told."""
        self._directors = tuple(d for d in self._directors if d is not listener)

    def epoch_begins(self) -> None:
        """Called before the first execution of an epoch."""
        if not self._epochs_done:
            # Another callback may have restored a checkpoint when training began.
            self.first_step = self.step = optimizer_iterations(self.model) or 0
        self.batch = self._answers_left = 0
        self._epoch_iterations = optimizer_iterations(self.model)
        self._epoch_open = True
        self._exhausted = False
        self._stretch_limit = self._longest_stretch()

    def epoch_ends(self, *, validates: bool = False) -> None:
        """Called when an epoch's last execution is over; again calls do nothing."""
        if not self._epoch_open:
            return
        self._epoch_open = False
        self._answers_left = 0
        missing = self._missing_steps()
        self.step -= missing
        self.batch -= missing
        self.epochs_differ |= bool(self._epochs_done) and self.batch != self.epoch_steps
        self.epoch_steps = self.batch
        # XLA compiles for the smaller last batch the first time it comes, without a new trace.
        self.timeline.flush(
            missing, may_have_compiled=bool(self.model.jit_compile) and not self._epochs_done
        )
        self._epochs_done += 1
        # tf.data's count of gaps after the end of the data is known for single steps only.
        reliable = not self._exhausted or self.steps_per_execution == 1
        self._end_stretch(int(self._exhausted) if reliable else None)
        self._tell("epoch_ends", validates=validates)
        self.pipeline = None

    def _missing_steps(self) -> int:
        """Steps that the epoch's last execution ran fewer than steps_per_execution.

        Where Keras knows the length of the data, that tells. Else the optimizer does, if it
        counts every step: with loss scaling or gradient accumulation it does not.
        """
        if self.steps_per_execution == 1:
            return 0
        expected = self.batch
        if self.known_steps is not None:
            expected = self.batch if self.whole_executions else self.known_steps
        elif self._epoch_iterations is not None and counts_every_step(self.model.optimizer):
            expected = (optimizer_iterations(self.model) or 0) - self._epoch_iterations
        missing = self.batch - expected
        return missing if 0 < missing < self.steps_per_execution else 0

    def close(self, *, aborted: bool = False) -> None:
        """Gives model and callback list back, writes what is left; again calls do nothing."""
        with self._closing:
            if self.closed:
                return
            self.closed = True
        if self.model.train_function is self._wrapper:
            self.model.train_function = self._function
        if self._relay is not None:
            self._relay.restore()
        self._garbage.stop()
        self._when_closed(self)
        self.timeline.flush()
        self.timeline.close(_clock())
        self._end_stretch(None)
        self._tell("executions_end")
        self._end_interval(None, _clock())
        self._tell("observation_ends", aborted)
        try:
            self.recording.finish(self)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "writing the end of the run", "what was logged before remains")
