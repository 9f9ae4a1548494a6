"""StepGapDetector."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from keras_perf.backends.chosen import chosen_backend
from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.observation.failure_line import harmless
from keras_perf.observation.input_model import InputModel
from keras_perf.observation.observation import Observation
from keras_perf.observation.short_fits import is_worth_a_line, record_short_fit
from keras_perf.observers.steps.calls.call_scalars import call_scalars
from keras_perf.observers.steps.hook_rhythm import HookTimes
from keras_perf.observers.steps.input.seen_pipeline import SeenPipeline
from keras_perf.observers.steps.interval_scalars import interval_scalars
from keras_perf.observers.steps.outliers import OutlierJudge, OutlierLog
from keras_perf.observers.steps.outside.outside_steps import Outside
from keras_perf.observers.steps.outside.start_up_times import StartUpTimes
from keras_perf.observers.steps.split import Splitter
from keras_perf.records.arguments import require_bool
from keras_perf.records.epoch_gap import EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.inference import EVALUATE, PREDICT, VALIDATION, Inference
from keras_perf.report.text.text_tab import outliers_markdown

FACTS_EVERY_NS = 30_000_000_000
"""A run that is killed, or looked at while it runs, is known as it was this long ago."""

_COUNTED = (Kind.STEADY, Kind.TRACED, Kind.RECOMPILED)


class StepGapDetector(ObservingCallback):
    """Tells where each training step's time goes, all the time, without a trace.

    Splits the time from one step's begin to the next into input wait, compute, dispatch (where
    it is known), callbacks, other host work and compiling, and logs the parts about twice a
    second as scalars `perf/*_ms`, each callback's share as `perf_callbacks/*_ms`, and throughput.
    At the end of training it writes the diagnosis to TensorBoard's Text tab. Validations are split
    too, as `validation/*_ms`, and a `model.evaluate` or `model.predict` that it is given to.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        summary: when training ends, four lines at most on standard error (in a notebook below the
            cell): the verdict, the best advice, where to look. Of a model's fits that are too short
            for a step to be measured, they are of the first, the tenth, the hundredth.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    Source of the split: tf.data's gap times (`tf.data.experimental.get_model_proto`), the time
    between two `GetNext`; see `keras_perf.observers.steps.split`. Of a `PyDataset` with workers,
    for which Keras turns them off, the time until they hand over a batch.

    What it cannot see: the input wait where a dataset turns off tf.data's autotune; XLA compiling
    where nearly every step has a new shape; what a callback does in a thread of its own. Warm-up,
    profiled and trial executions, validation and epoch boundaries are outside of a step's figures.

    >>> import keras_perf as kp
    >>> gaps = kp.StepGapDetector("logs/run1")  # model.fit(..., callbacks=[gaps])
    """

    def __init__(self, log_dir: str | os.PathLike[str], *, summary: bool = True) -> None:
        super().__init__(log_dir)
        self.summary, self._short_fits = require_bool("summary", summary), 0
        self._forget()

    def _forget(self) -> None:
        self._splitter, self._outside, self._outliers = Splitter(), Outside(), OutlierJudge()
        self._worst, self._hooks = OutlierLog(), HookTimes()
        self._start_up: StartUpTimes | None = None
        self._unjudged: list[Execution] = []
        self._pipeline = SeenPipeline()
        self._described_ns: int | None = None
        self._examples_per_step: float | None = None
        self._measured = False
        self._calls: Any = None

    def observation_begins(self, observation: Observation) -> None:
        """Starts anew: nothing of an earlier `fit` is carried over."""
        self._forget()
        self._splitter = Splitter(observation.fetches_per_step)
        self._pipeline = SeenPipeline(observation.fetches_per_step)
        self._start_up = StartUpTimes(observation.now(), observation.backend.traced_s())
        observation.recording.diagnose_at_end(self.log_dir, summary=self.summary)

    @harmless
    def on_test_begin(self, logs: Any = None) -> None:
        """Watches an `evaluate` that a user calls; what `fit` evaluates is its validation."""
        self._watch(EVALUATE)

    @harmless
    def on_predict_begin(self, logs: Any = None) -> None:
        """Watches a `predict` that a user calls."""
        self._watch(PREDICT)

    def _watch(self, kind: str) -> None:
        if self.observation is None:
            self._calls = chosen_backend().watch_call(kind, self, self._calls)

    def finish_calls(self) -> None:
        """Writes the last of very many calls, up to a hundredth of their time."""
        if self._calls is not None:
            self._calls.finish()

    def validation_ends(self, call: Inference) -> None:
        """Adds it to the others, and logs its parts."""
        observation = self._training
        observation.recording.validated(call)
        self.writer.scalars(observation.step, call_scalars(VALIDATION, call))

    def executions(self, executions: Sequence[Execution]) -> None:
        """Adds them to the split, or to what lies outside of it."""
        for execution in executions:
            if execution.kind not in _COUNTED:
                self._outside.add(execution)
                continue
            self._splitter.add(execution)
            self._unjudged.append(execution)
            if execution.owners:
                self._hooks.add(execution.owners)
        unknown = self._start_up is not None and self._start_up.facts() is None
        if executions and (unknown or executions[0].kind is Kind.WARMUP):
            self._time_start_up(executions)

    def _time_start_up(self, executions: Sequence[Execution]) -> None:
        """What an epoch's last one waits for is not known: no `GetNext` follows it."""
        observation, waits = self._training, None
        assert self._start_up is not None
        following_ns = observation.timeline.begun_ns
        if observation.pipeline is not None and following_ns is not None:
            waits = observation.pipeline.waits(
                executions,
                observation.fetches_per_step,
                observation.pace.held_fetches,
                following_ns,
            )
        # The first one may be of another kind, as in a capture that begins with it.
        warmup = [e for e in executions if e.kind is Kind.WARMUP] or executions[:1]
        traced_s = observation.backend.traced_s()
        fetches_first = observation.fetches_before_tracing
        self._start_up.add(warmup, waits or {}, traced_s, fetches_first=fetches_first)

    def epoch_gap_ends(self, gap: EpochGap) -> None:
        """Adds it to what lies outside of the steps."""
        gap = self._outside.ends.add(gap)
        self._judge({})
        self._outliers.add_gap(gap)
        self._hooks.add(gap.owners)
        self.writer.scalars(gap.step, self._outside.add_gap(gap))

    def stretch_ends(self, pipeline: InputModel | None, pending_gaps: int | None) -> None:
        """Asks tf.data for the gaps."""
        training = self._training
        model = pipeline.read() if pipeline is not None and pending_gaps is not None else None
        if pipeline is None or model is None or pending_gaps is None:
            self._splitter.close_stretch(None)
        else:
            gaps = model.gap_times if pipeline.tells_gaps else None
            following_ns = training.timeline.asked_ns
            self._splitter.close_stretch(gaps, pending_gaps, following_ns)
            ask, within = training.recording.ask, training.mid_epoch
            self._pipeline.look(pipeline, model, ask, within_epoch=within)
        self._outside.add_waits(self._splitter.waits)
        self._judge(self._splitter.waits)

    def within_short_epoch(self, pipeline: InputModel) -> None:
        """Looks at the stages: at the end of the epoch the first ones are gone."""
        if (model := pipeline.read()) is not None:
            self._pipeline.look(pipeline, model, self._training.recording.ask, within_epoch=True)

    def _judge(self, waits: Mapping[int, int]) -> None:
        """Looks for what took far longer than usual since the last time."""
        executions, self._unjudged = self._unjudged, []
        self._outliers.add(executions)
        self._outliers.close_stretch(waits, bool(self._pipeline.shuffles))
        for event in self._outliers.take():
            self._worst.add(event)
            self.writer.scalars(event.step, {event.cause.tag: event.excess_ms})

    def interval_ends(self, step: int, wall_time: float, final: bool) -> None:
        """Writes the interval."""
        observation = self._training
        if final:
            self._judge({})
        interval = self._splitter.take(observation.trials.dispatch, final=final)
        if interval is None:
            return
        self._measured = True
        if self._examples_per_step is None and observation.mid_epoch:
            self._count_examples(observation)
        values = interval_scalars(interval, self._examples_per_step)
        values |= observation.exchanged(interval)
        self.writer.scalars(interval.last_step, values, wall_time)
        self._record_stages(observation)
        now = observation.now()
        if self._described_ns is None or now - self._described_ns > FACTS_EVERY_NS:
            self._described_ns = now
            self._record_sums(observation)
            observation.recording.write_facts(observation.step)

    def epoch_ends(self, *, validates: bool) -> None:
        """Counts the examples of the whole epoch, before validation begins to count its own."""
        self._count_examples(self._training)

    def leaves(self, aborted: bool) -> None:
        """Records events and what lay outside, and lets go of tf.data's model."""
        training = self._training
        self._record_sums(training)
        if table := outliers_markdown(training.recording.facts.outliers.events):
            self.writer.text(training.step, "perf/events", table)
        self._pipeline.let_go()
        if not (self._measured or aborted):
            self._record_short_fit(training)

    def _record_short_fit(self, training: Observation) -> None:
        """What is told of one is not told of the next one again."""
        calls, told_before = record_short_fit(training), self._short_fits
        self._short_fits = calls
        if calls > 1 and not is_worth_a_line(calls):
            training.recording.says_nothing(self.log_dir, diagnoses=not told_before)

    def _record_sums(self, observation: Observation) -> None:
        recording = observation.recording
        recording.facts = replace(
            recording.facts,
            outliers=self._worst.facts(),
            outside=self._outside.facts(),
            start_up=self._start_up.facts() if self._start_up is not None else None,
            hooks=self._hooks.facts(),
        )

    def _record_stages(self, observation: Observation) -> None:
        recording = observation.recording
        known = self._pipeline.facts(recording.facts.input, recording.ask)
        recording.facts = replace(
            recording.facts, input=known, undisturbed_ms=self._splitter.undisturbed_ms
        )

    def _count_examples(self, observation: Observation) -> None:
        """The device is idle now."""
        self._examples_per_step = observation.count_examples()
