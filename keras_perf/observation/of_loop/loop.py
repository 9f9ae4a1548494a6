"""The observation of a custom training loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observation.backend import Backend
from keras_perf.observation.facts.input.dataset_graph import dataset_behind, dataset_graph, kind_of
from keras_perf.observation.facts.input.distribution_options import options_of_iterator
from keras_perf.observation.facts.tracing_time import compiled_by_xla
from keras_perf.observation.listener import Plan
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_loop.exchange import ObservedExchange, TimedExchange
from keras_perf.observation.of_loop.first_calls import FirstCalls
from keras_perf.observation.of_loop.in_turn import InTurn
from keras_perf.observation.of_loop.last_call import LastCall
from keras_perf.observation.of_loop.passes import Passes
from keras_perf.observation.of_loop.trials_of_loop import TrialsOfLoop
from keras_perf.observers.asking import Questions
from keras_perf.records.epoch_gap import VALIDATION
from keras_perf.records.interval import Interval
from keras_perf.records.phase import Phase
from keras_perf.records.run.input.pipeline import WrittenPipeline
from keras_perf.records.run_names import RUN, worker_run

FLUSH_S = 5.0
"""Seconds after which what a worker has logged can be read: by the chief, who writes the
diagnosis, and by everybody, should the worker be killed."""


class LoopObservation(Observation):
    """Driven by `LoopMonitor`, which is told what the loop is about to do.

    An epoch is here what lies between two interruptions, or what one iterator gives.

    Arguments:
        model, function, steps, first_step, jit_compile, fetches_per_step, exchange: as
            `LoopMonitor`'s.
        backend: TensorFlow's.
        strategy: that the model is trained under.
        examples: in a step, or None.
        worker: this worker's number, or None where it is the only one.
        workers: how many there are, as far as that is known.
        clock: in nanoseconds.
    """

    def __init__(
        self,
        model: keras.Model,
        function: Any,
        *,
        backend: Backend,
        strategy: tf.distribute.Strategy,
        steps: int | None,
        first_step: int,
        jit_compile: bool | None,
        examples: float | None,
        fetches_per_step: float,
        exchange: TimedExchange | None,
        worker: int | None,
        workers: int | None,
        clock: Callable[[], int],
    ) -> None:
        super().__init__(
            model,
            backend,
            function,
            1,
            clock=clock,
            first_step=first_step,
            fetches_per_step=fetches_per_step,
            run=RUN if worker is None else worker_run(worker),
        )
        self.diagnoses, self.worker = not worker, worker
        self._strategy, self._workers = strategy, workers
        self._told, self._examples = function is not None, examples
        self._jit_compile = compiled_by_xla(function) if jit_compile is None else jit_compile
        self._exchange = ObservedExchange(exchange)
        self._on_gpu = bool(tf.config.get_visible_devices("GPU"))
        self._in_turn, self._passes = InTurn(), Passes(fetches_per_step)
        self._last_call = LastCall(self, self._passes)
        self._first = FirstCalls(backend.traced_s, fetch=fetches_per_step >= 1, compiled=self._told)
        self._owners: set[str] = set()
        self._dataset_graph: WrittenPipeline | None = None
        self._shared, self._flushed = dict[str, str](), self.now()
        several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
        self.trials: TrialsOfLoop = TrialsOfLoop(
            self,
            function,
            steps=steps,
            workers_train=several or worker is not None or (workers or 1) > 1,
            owners=lambda: sorted(self._owners),
            data_left=lambda: self._passes.left(self.step),
        )
        self._collector.start()

    # -- what only the loop knows --------------------------------------------------------

    @property
    def compiled_by_xla(self) -> bool:
        """The user has said so."""
        return bool(self._jit_compile)

    def settings(self) -> Questions:
        """What is known of the loop."""
        recorded, strategy = self._exchange.facts(), self._strategy
        return {
            "driver": lambda: "loop",
            "run_eagerly": lambda: tf.config.functions_run_eagerly() or self._first.run_by_python,
            "eager_functions": tf.config.functions_run_eagerly,
            "strategy": lambda: type(strategy).__name__,
            "replicas": lambda: int(strategy.num_replicas_in_sync),
            "batch_hooks": lambda: sorted(self._owners),
            "dataset": lambda: self._dataset_graph,
            "distribution_options": lambda: self._shared,
            "worker": lambda: self.worker,
            "workers": lambda: self._workers or (recorded.workers if recorded else None),
            "exchange": lambda: recorded,
            "jit_compile": lambda: self._jit_compile,
            "function_traces": lambda: self.traces if self._told else None,
            "loop_pass_steps": lambda: self._passes.steps,
            "fetches_per_step": lambda: self.fetches_per_step,
            **self._first.facts(),
        }

    def examples_per_step(self) -> float | None:
        """As the user said."""
        return self._examples

    def exchanged(self, interval: Interval) -> Mapping[str, float]:
        """Tag → value of what the exchange took since the last interval."""
        return self._exchange.scalars(interval)

    # -- the hot path --------------------------------------------------------------------

    def call_begins(self, iterator: Any, steps: int, left: int | None) -> Plan:
        """The loop is about to run `steps` steps; how many it is to run instead."""
        if self.pipeline is not None and self.pipeline.iterator is iterator:
            self._in_turn.goes_on(steps)
            if not self.mid_epoch:
                self.timeline.keep_input()
        else:
            # Another iterator is an epoch of its own.
            self._in_turn.comes(iterator, steps)
            self._stretch_of_calls_ends()
            self._first.looks_no_more()
            self.reads(iterator)
            self.input_kind = kind_of(iterator)
            dataset = dataset_behind(iterator)
            self._passes.begins(dataset, self.step, self.pipeline)
            if self._dataset_graph is None:
                self._dataset_graph = dataset_graph(dataset)
            self._shared = options_of_iterator(iterator)
        if steps > self.steps_per_execution:
            self.steps_per_execution = steps
            self.pace.usual_length(steps)
        if steps != self._ordinary.steps:
            self._ordinary = self._ordinary._replace(steps=steps)
        self.trials.has_left(max(steps, left or 0))
        if not self.mid_epoch:
            self.mid_epoch = True
            self.batch = 0
            self.pace.limit_stretch(self.epoch_steps, self.batch)
            self.audience.tell("phase_begins", Phase.TRAINING)
        if self._last_call.failed:
            self._end_stretch(self._last_call.take_pending())
        if self.pace.warmup_left == 0:
            self._exchange.note()
        self._first.begins(self.pipeline)
        plan = self.begin(iterator)
        self._last_call.begins(plan)
        return plan

    def call_ends(self, plan: Plan, *, marked: bool) -> None:
        """The loop has run the steps and read their result.

        On a GPU a function returns before its work is done. Where nobody has marked when, the
        execution says that it is not known.
        """
        if not marked:
            self.returned(plan, unseen=self._on_gpu)
        self.timeline.ready(self.now())
        self._first.ends(self.pipeline)

    def _end_interval(self, pending_gaps: int | None, now: int) -> None:
        super()._end_interval(pending_gaps, now)
        if self.worker is not None and now - self._flushed > FLUSH_S * 1e9:
            self._flushed = now
            self.recording.flush()

    def call_raises(self, plan: Plan, *, marked: bool, out_of_data: bool) -> None:
        """It has, after its function had returned if `marked`; `out_of_data`: at their end."""
        self._first.looks_no_more()
        self._last_call.raises(plan, marked=marked, out_of_data=out_of_data)

    def _without_what_found_no_data(self) -> None:
        if self._first.fetch:
            self._last_call.found_no_data()

    def _give_back(self) -> None:
        self._first.looks_no_more()

    def _tell_the_rest(self, *, aborted: bool) -> None:
        if not aborted:
            # Its last stretch of calls ends with the loop.
            self._without_what_found_no_data()
            self.timeline.flush()
        super()._tell_the_rest(aborted=aborted)

    # -- what happens between calls ------------------------------------------------------

    def host(self, owner: str, begin: int) -> None:
        """`owner` had the time since `begin`."""
        self._owners.add(owner)
        self.timeline.host(owner, begin, self.now())

    def leaves_steps(self, owner: str) -> None:
        """Something begins that lies outside of every step."""
        validates = owner == VALIDATION
        if self.mid_epoch:
            self._stretch_of_calls_ends(validates=validates)
        elif validates:
            self.tell_between_epochs(lambda: None, validates=True)
        if validates:
            self.timeline.validates()
        self.audience.tell("phase_begins", Phase.VALIDATION if validates else Phase.BETWEEN)
        self._exchange.pause()

    def returns_to_steps(self, owner: str, begin: int, *, cut_off: bool) -> None:
        """It is over, or `cut_off`: how long an evaluation would have been nobody knows then."""
        if not (cut_off and owner == VALIDATION):
            self.timeline.outside(owner, begin, self.now())
        self.audience.tell("phase_begins", Phase.BETWEEN)

    def _stretch_of_calls_ends(self, *, validates: bool = False) -> None:
        if not self.mid_epoch:
            return
        self.mid_epoch, begin = False, self.now()
        self._without_what_found_no_data()
        asking_ns = self.now() - begin
        self.interrupt(self._last_call.take_pending(), validates=validates)
        self.timeline.observed_ns(asking_ns)
