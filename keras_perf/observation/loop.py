"""The observation of a custom training loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import keras
import tensorflow as tf

from keras_perf.observation.dataset_graph import dataset_behind, dataset_graph
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.listener import Plan
from keras_perf.observation.model_facts import compiles_for_shapes
from keras_perf.observation.observation import Observation
from keras_perf.observation.pipeline_model import PipelineModel
from keras_perf.observers.asking import Questions
from keras_perf.observers.steps.exchange_means import ExchangeWatch
from keras_perf.observers.trial.steps_choice import Bounds
from keras_perf.records.epoch_gap import VALIDATION
from keras_perf.records.exchange import ExchangeMeans, ExchangeTotals, exchange_scalars
from keras_perf.records.interval import Interval
from keras_perf.records.phase import Phase
from keras_perf.trials.train_function import takes_a_number
from keras_perf.write.run_writer import RUN, worker_run

FLUSH_S = 5.0
"""Seconds after which what a worker has logged can be read: by the chief, who writes the
diagnosis, and by everybody, should the worker be killed."""


@runtime_checkable
class TimedExchange(Protocol):
    """What times the exchange of gradients, such as `keras_perf.loop.Exchange`."""

    def pause(self) -> None:
        """What follows is no training."""

    def totals(self) -> ExchangeTotals | None:
        """Since training began; None where it is not measured."""


class LoopObservation(Observation):
    """Driven by `LoopMonitor`, which is told what the loop is about to do.

    An epoch is here what lies between two interruptions, or what one iterator gives.

    Arguments:
        model: being trained.
        function: the `tf.function` that is called, or None.
        strategy: that it runs under.
        steps: optimizer steps in all; None if that is not known.
        first_step: of them, those that were done before.
        jit_compile: XLA compiles the steps; None if nobody has said.
        examples: in a step, or None.
        fetches_per_step: how often a step asks the iterator for an element.
        exchange: times the exchange of gradients, or None.
        worker: this worker's number, or None where it is the only one.
        workers: how many there are, as far as that is known.
        clock: in nanoseconds.
    """

    epochs_are_called = "stretches without an interruption"

    def __init__(
        self,
        model: keras.Model,
        function: Any,
        *,
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
            function,
            1,
            clock=clock,
            first_step=first_step,
            fetches_per_step=fetches_per_step,
            run=RUN if worker is None else worker_run(worker),
        )
        self.diagnoses = not worker
        self.worker = worker
        self._strategy, self._workers = strategy, workers
        self._steps, self._jit_compile, self._examples = steps, jit_compile, examples
        self._exchange = exchange
        self._exchange_watch = ExchangeWatch()
        self._on_gpu = bool(tf.config.get_visible_devices("GPU"))
        self._left = 0
        self._longest_left: int | None = None
        self._exhausted = False
        self._function = function
        self._judged_traces: int | None = None
        self._refusal: str | None = None
        self._owners: set[str] = set()
        self._dataset_graph: dict[str, Any] | None = None
        self._flushed = self.now()

    # -- what only the loop knows --------------------------------------------------------

    @property
    def shapes_differ(self) -> bool:
        """XLA compiles the steps, and batches may differ in more than their number of rows."""
        return bool(self._jit_compile) and compiles_for_shapes(self.pipeline)

    @property
    def room_steps(self) -> int | None:
        """The most steps that were left until something of the user's was due."""
        return self._longest_left

    @property
    def steps_left(self) -> int:
        """Steps until training ends."""
        return max(0, (self._steps or 0) - self.step)

    def settings(self) -> Questions:
        """What is known of the loop."""
        recorded, strategy = self._exchange_watch.record(), self._strategy
        known: dict[str, Callable[[], Any]] = {
            "driver": lambda: "loop",
            "run_eagerly": tf.config.functions_run_eagerly,
            "trainable_parameters": self._trainable_parameters,
            "strategy": lambda: type(strategy).__name__,
            "replicas": lambda: int(strategy.num_replicas_in_sync),
            "batch_hooks": lambda: sorted(self._owners),
            "dataset": lambda: self._dataset_graph,
            "worker": lambda: self.worker,
            "workers": lambda: self._workers or recorded.get("workers"),
        }
        if self._jit_compile is not None:
            known["jit_compile"] = lambda: self._jit_compile
        if recorded:
            known["exchange"] = lambda: recorded
        return known

    def _trainable_parameters(self) -> int:
        return sum(math.prod(weights.shape) for weights in self.model.trainable_weights)

    def examples_per_step(self) -> float | None:
        """As the user said."""
        return self._examples

    def exchanged(self, interval: Interval) -> Mapping[str, float]:
        """Tag → value of what the exchange took since the last interval."""
        means = self._note_exchange()
        if means is None:
            return {}
        return exchange_scalars(means, interval.compute_ns / interval.steps / 1e6)

    def _note_exchange(self) -> ExchangeMeans | None:
        if self._exchange is None:
            return None
        try:
            totals = self._exchange.totals()
            return None if totals is None else self._exchange_watch.take(totals)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "reading the exchange's totals", "communication is missing from now on")
            self._exchange = None
            return None

    def bounds(self, limit: int, max_execution_s: float) -> Bounds:
        """A call runs any number of steps: none need divide what lies between two events."""
        longest = min(limit, self._longest_left or limit)
        return Bounds(longest, max_execution_s, None, setting="steps_per_call")

    def reason_not_to_try(self) -> str | None:
        """Why no other number of steps per call can be tried in this loop, or None."""
        several = self.worker is not None or (self._workers or 1) > 1
        if several or isinstance(self._strategy, tf.distribute.MultiWorkerMirroredStrategy):
            return "several workers would have to try at the same steps"
        if tf.config.functions_run_eagerly():
            return "tf.config.run_functions_eagerly(True) runs every step from Python"
        if self.fetches_per_step < 1:
            return "an element of the iterator holds several steps, whose number a trial changes"
        if self._steps is None:
            return "the number of steps is not known; LoopMonitor(steps=...) tells it"
        if self._function is None:
            return (
                "another number of steps could trace the loop's function again, with what Python "
                "holds by then; LoopMonitor(function=...) lets that be seen"
            )
        return None

    def refuses(self, steps: int) -> str | None:
        """Looks whether another number would trace the loop's function again."""
        if self._judged_traces != self.traces:
            self._judged_traces = self.traces
            if not takes_a_number(self._function):
                self._refusal = (
                    "another number of steps would trace the loop's function again, with what "
                    "Python holds by then; pass it as a tensor, tf.constant(call.steps)"
                )
        return self._refusal

    def called_less_often(self) -> list[str]:
        """What `LoopMonitor.host` was told of."""
        return sorted(self._owners)

    def at_most(self, steps: int) -> int:
        """As many of them as are left until something of the user's is due."""
        return min(steps, self._left)

    # -- the hot path --------------------------------------------------------------------

    def call_begins(self, iterator: Any, steps: int, left: int | None) -> Plan:
        """The loop is about to run `steps` steps; how many it is to run instead."""
        if self.pipeline is not None and self.pipeline.iterator is iterator:
            if not self.mid_epoch:
                self.timeline.keep_input()
        else:
            # Another iterator is an epoch of its own.
            self._stretch_of_calls_ends()
            self.pipeline = PipelineModel(iterator)
            self.input_kind = _kind_of(iterator)
            if self._dataset_graph is None:
                self._dataset_graph = dataset_graph(dataset_behind(iterator))
        if steps > self.steps_per_execution:
            self.usual_length(steps)
        if steps != self._ordinary.steps:
            self._ordinary = self._ordinary._replace(steps=steps)
        self._left = max(steps, left or 0)
        if self._longest_left is None or self._left > self._longest_left:
            self._longest_left = self._left
        if not self.mid_epoch:
            self.mid_epoch = True
            self.batch = 0
            self._stretch_limit = self._longest_stretch()
            self._tell("phase_begins", Phase.TRAINING)
        if self._executions == self._warm_executions:
            self._note_exchange()
        return self.begin(iterator)

    def call_ends(self, plan: Plan, *, marked: bool) -> None:
        """The loop has run the steps and read their result.

        On a GPU a function returns before its work is done. Where nobody has marked when, the
        execution says that it is not known.
        """
        if not marked:
            self.returned(plan, unseen=self._on_gpu)
        self.timeline.ready(self.now())

    def _end_interval(self, pending_gaps: int | None, now: int) -> None:
        super()._end_interval(pending_gaps, now)
        if self.worker is not None and now - self._flushed > FLUSH_S * 1e9:
            self._flushed = now
            self.recording.flush()

    def call_raises(self, *, out_of_data: bool) -> None:
        """It never was; `out_of_data`, if the iterator has come to its end."""
        self.timeline.discard()
        self._exhausted = out_of_data

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
            self._tell("epoch_ends", validates=True)
        self._tell("phase_begins", Phase.VALIDATION if validates else Phase.BETWEEN)
        if self._exchange is not None:
            try:
                self._exchange.pause()
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                warn_of(error, "pausing the exchange's clock", "communication is missing")
                self._exchange = None

    def returns_to_steps(self, owner: str, begin: int) -> None:
        """It is over."""
        self.timeline.outside(owner, begin, self.now())
        self._tell("phase_begins", Phase.BETWEEN)

    def _stretch_of_calls_ends(self, *, validates: bool = False) -> None:
        if not self.mid_epoch:
            return
        self.mid_epoch = False
        pending: int | None = 0
        if self._exhausted:
            # How often a call of several fetches asked before it found no more is not known.
            pending = 1 if self._fetches(self._ordinary.steps) == 1 else None
            self._exhausted = False
        self.interrupt(pending, validates=validates)


def _kind_of(iterator: Any) -> str:
    known = isinstance(iterator, tf.data.Iterator | tf.distribute.DistributedIterator)
    return "tf.data" if known else "generator"
