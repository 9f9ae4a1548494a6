"""What is observed of a training, whoever drives it: `fit`, or a loop of the user's own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import keras

from keras_perf.observation.completed_executions import Completed
from keras_perf.observation.facts.gpu_use import gpu_use_facts
from keras_perf.observation.facts.in_the_step import OperationsInTheStep
from keras_perf.observation.facts.machine_facts import machine_facts
from keras_perf.observation.facts.model_facts import (
    model_facts,
    rows_may_differ,
    trace_counter,
)
from keras_perf.observation.facts.pipeline_model import PipelineModel
from keras_perf.observation.facts.step_work import WorkQuestion
from keras_perf.observation.failure_line import ends_harmlessly, warn_of
from keras_perf.observation.listener import Plan
from keras_perf.observation.listeners import Audience
from keras_perf.observation.run_record import Recording
from keras_perf.observation.trials import Trials
from keras_perf.observation.warmup_and_intervals import Over, Pace
from keras_perf.observers.asking import Questions
from keras_perf.observers.delayed_signals import PATIENCE_S, uninterrupted
from keras_perf.observers.steps.garbage import CollectorPauses
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.execution import Kind
from keras_perf.records.interval import Interval
from keras_perf.records.run.ending import Ending, How
from keras_perf.records.run_names import RUN

_STEADY, _TRACED, _WARMUP = Kind.STEADY, Kind.TRACED, Kind.WARMUP


class Observation:
    """One timeline, and the audience that is told of it, while one training runs.

    Whoever drives the training is a subclass. It calls `begin` before each execution and
    `returned` after it, `interrupt` where something else than training follows, and `close`.

    Attributes:
        model: being trained.
        now: the clock of all its times, in nanoseconds.
        timeline: fed here and by the driver.
        audience: who is told.
        pace: when warm-up, stretches and intervals are over.
        trials: what the training allows for trials of other numbers of steps per execution.
        step: optimizer steps before the next execution.
        first_step: optimizer steps before this training.
        batch: steps since the epoch began, or since the last interruption.
        steps_per_execution: of an ordinary execution.
        fetches_per_step: how often a step asks the iterator for an element.
        mid_epoch: more executions may follow without an interruption.
        epochs: number of epochs asked for, where that is known.
        epoch_steps: steps of a whole epoch, as far as they are known.
        input_kind: as in `InputFacts`.
        pipeline: tf.data's model behind the iterator.
        work: counts what a step multiplies, at the end.
        rows_differ: batches may have different numbers of rows; None if that is not known.
        recording: where listeners write.
        traces: how often TensorFlow has traced the train function.
        diagnoses: the diagnosis is written at the end.
    """

    trials: Trials

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
        self.audience = Audience()
        self.first_step = self.step = first_step
        self.batch = 0
        self.fetches_per_step = fetches_per_step
        self.mid_epoch = False
        self.epochs: int | None = None
        self.epoch_steps: int | None = None
        self.input_kind: str | None = None
        self.pipeline: PipelineModel | None = None
        self.work = WorkQuestion()
        self.rows_differ: bool | None = None
        self.recording = Recording(run, self._facts)
        self.recording.learn(gpu_use_facts())
        self.diagnoses = True
        self.closed, self._closing = False, threading.Lock()
        self._begun = clock()
        self.steps_per_execution = steps_per_execution
        self.pace = Pace(steps_per_execution, fetches_per_step, self._begun)
        self._completed = Completed(
            self.timeline, self.audience, fetches_per_step, lambda: self.shapes_differ
        )
        self._runs(function)
        self._in_the_step = OperationsInTheStep()
        self._collector = CollectorPauses(clock, self.timeline.collected)

    # -- what only the driver knows ------------------------------------------------------

    @property
    def shapes_differ(self) -> bool:
        """XLA compiles the steps, and batches may differ in more than their number of rows."""
        return False

    def settings(self) -> Questions:
        """What the driver adds to the facts of the run: name → what is asked."""
        raise NotImplementedError

    def _facts(self) -> Questions:
        """What is known of a training without measuring: versions, settings, sizes."""
        return {
            **machine_facts(),
            **model_facts(self.model),
            "steps_per_execution": lambda: self.steps_per_execution,
            "operations_in_step": lambda: self._in_the_step(self._ordinary.function, self.traces),
            "input_kind": lambda: self.input_kind,
            "shapes_differ": lambda: self.shapes_differ,
            "rows_differ": lambda: self.rows_differ,
            "first_step": lambda: self.first_step,
            "last_step": lambda: self.step,
            "epoch_steps": lambda: self.epoch_steps,
            "epochs": lambda: self.epochs,
            "step_work": lambda: self.work.asked(
                self._ordinary.function,
                examples=self.recording.facts.length.examples_per_step,
                replicas=self.settings()["replicas"](),
                batches_per_step=self.fetches_per_step,
                steps_per_call=self.steps_per_execution,
            ),
            "function_traces": lambda: self.traces,
            **self.settings(),
        }

    def examples_per_step(self) -> float | None:
        """Examples in a step, where they are known; asked while the device is idle."""
        return None

    def exchanged(self, interval: Interval) -> Mapping[str, float]:
        """Tag → value of what several workers spent on exchanging gradients."""
        return {}

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
        self.pace.returned(plan)
        self.step += plan.steps
        self.batch += plan.steps
        if (traces := self._count_traces()) != self.traces:
            self.traces = traces
            if plan.kind is _STEADY:
                self.timeline.retag(_TRACED)

    def _plan(self, iterator: Any, now: int) -> Plan:
        """What the next execution is, after the work that is due between two executions."""
        if self.pipeline is None or self.pipeline.iterator is not iterator:
            self.pipeline = PipelineModel(iterator)
            self.rows_differ = rows_may_differ(self.pipeline)
        pace = self.pace
        if (over := pace.over(now)) is Over.STRETCH:
            self._end_stretch(pace.held_fetches)
        elif over is Over.INTERVAL:
            self._end_interval(pace.held_fetches, now)
        plan = self._ordinary
        if pace.warms_up:
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
            self.pace.end_stretch()
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
                None if that is not known.
            validates: what follows is an evaluation.
            missing_steps: how many fewer steps the last execution ran.
            may_have_compiled: the last execution, if steady, may have compiled for its shape.
        """
        self.timeline.flush(missing_steps, may_have_compiled=may_have_compiled)
        self._end_stretch(pending_gaps)
        self.audience.tell("epoch_ends", validates=validates)

    def close(self, *, aborted: bool = False, ending: Ending | None = None) -> None:
        """Gives back what the driver took, writes what is left; again calls do nothing.

        The rest is told; what was taken is given back; listeners end; context and diagnosis are
        written; files are closed: each whatever fails before it. Ctrl-C waits for that, for
        PATIENCE_S at most. After an interrupt inside all is given back too, but no more written.

        Arguments:
            aborted: training has raised, or is observed no longer.
            ending: how it has raised; None where it goes on.
        """
        with uninterrupted(PATIENCE_S):
            with self._closing:
                if self.closed:
                    return
                # Who has stopped the training does not wait for it.
                self.closed, self.work.due = True, not aborted
            with ExitStack() as files:
                files.callback(ends_harmlessly, self.recording.close)
                self.recording.ends(ending if aborted else Ending(How.DONE))
                with ExitStack() as listeners:
                    listeners.callback(self.audience.end, aborted=aborted)
                    with ExitStack() as taken:
                        taken.callback(self._collector.stop)
                        taken.callback(ends_harmlessly, self._give_back)
                    ends_harmlessly(self._tell_the_rest)
                ends_harmlessly(self.recording.finish, self.step, diagnoses=self.diagnoses)

    def gives_up(self, error: Exception) -> None:
        """Observing itself has failed: it ends, and training goes on."""
        warn_of(error, "observing", "the rest of this training is not observed")
        self.close(aborted=True)

    def _tell_the_rest(self) -> None:
        self.timeline.flush()
        self.timeline.close(self.now())
        self._end_stretch(None)
        self.audience.tell("executions_end")
        self._end_interval(None, self.now())

    def _give_back(self) -> None:
        """Leaves the model and all else as they were."""
