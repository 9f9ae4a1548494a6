"""Keras on JAX: what its steps, its input and its devices tell."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import Any

import keras

from keras_perf.backends.jax_compiling import listen, listen_no_more, traced_s
from keras_perf.backends.jax_evaluation import JaxEvaluation
from keras_perf.backends.jax_facts import (
    allocated_by_tag,
    device_memory,
    distribution_facts,
    gpus,
    jax_facts,
)
from keras_perf.backends.jax_hooks import StateReads, keras_waits, late_hooks, waiting_hooks
from keras_perf.backends.jax_input import JaxInput
from keras_perf.backends.jax_steps import StandIn, compiles_executions
from keras_perf.backends.jax_work import JaxWork
from keras_perf.backends.not_watched import NoTrials
from keras_perf.capture import jax_door
from keras_perf.observation.backend import TrainFunction
from keras_perf.observation.facts.model_facts import keras_settings, model_facts
from keras_perf.observation.input_model import InputModel
from keras_perf.observation.of_calls.call_log import CallLog
from keras_perf.observation.of_calls.calling_hook import calling_hook
from keras_perf.observation.of_calls.calling_list import calling_list
from keras_perf.observation.of_calls.calls_in_hooks import CallsInHooks
from keras_perf.observation.of_calls.validations import Validations
from keras_perf.observation.of_calls.watch_call import watch_call
from keras_perf.observers.asking import Questions
from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.records.observed_backends import DATASETS_ALONE
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.records.run.devices.device_memory import peaks
from keras_perf.records.run.inference import EVALUATE

logger = logging.getLogger("keras_perf")


class OnJax:
    """See `Backend`.

    Keras's own threads read the logs of each step, or the training thread does where a callback
    asks for that: both tell when the device is done, and nothing waits for it that did not before.

    Arguments:
        clock: of the training, in nanoseconds.
    """

    end_of_data: tuple[type[BaseException], ...] = (StopIteration,)
    datasets_alone: str | None = DATASETS_ALONE
    counts_by_loss = False
    profiler = jax_door

    def __init__(self, clock: Callable[[], int]) -> None:
        self.timeline = OverlappingTimeline()
        self._stand_in = StandIn(self.timeline, clock)
        self.work = JaxWork(self._stand_in)
        self._reads: StateReads | None = None
        self._hooks: Callable[[], Any] = tuple
        self._waits = True
        self._raised: Callable[[BaseException], None] = lambda error: None
        listen(self.timeline, clock)

    # -- a step ----------------------------------------------------------------------------

    def called(self, function: Any) -> TrainFunction:
        """With the state that Keras has called its stand-in with."""
        return self._stand_in.called(function)

    def stand_in(self, model: keras.Model, execute: TrainFunction) -> StandIn:
        """Keras calls it with the state and the iterator."""
        self._stand_in.execute = execute
        self._stand_in.stands_in(model)
        self._reads = StateReads(model, self._stand_in.await_the_rest)
        return self._stand_in

    def input_model(self, iterator: Any) -> InputModel:
        """What was timed."""
        return JaxInput(iterator)

    def time_workers(self, enqueuer: Any | None) -> None:
        """The iterator is timed, whoever makes its batches."""

    def trace_counter(self, function: Any) -> Callable[[], int]:
        """Counts what was compiled in calls of the train function."""
        return lambda: self.timeline.compilations

    def fetches_before_tracing(self, function: Any) -> bool:
        """It is called with the state and the batch."""
        return True

    def compiles_unseen(self, model: keras.Model) -> bool:
        """JAX tells whenever it compiles."""
        return False

    def many_shapes(self, pipeline: InputModel) -> bool:
        """Needed only where XLA may be left out, or nothing tells of compiling."""
        return False

    def rows_may_differ(self, pipeline: InputModel) -> None:
        """The iterator does not tell."""

    # -- facts -----------------------------------------------------------------------------

    def facts_at_begin(self) -> Questions:
        """What the GPUs have held before; whether JAX finds them it says itself."""
        return {"earlier_peaks": lambda: peaks(device_memory())}

    @staticmethod
    def facts(model: keras.Model) -> Questions:
        """Versions, settings, sizes."""
        return {**jax_facts(), **model_facts(model)}

    def settings(self, model: keras.Model) -> Questions:
        """Keras's, how its distribution shares the batches out, and what the batches were."""
        batches = self._stand_in.batches
        return {
            **keras_settings(model),
            **distribution_facts(),
            "tries_steps": lambda: False,
            "compiles_executions": lambda: compiles_executions(model),
            "run_eagerly": lambda: bool(model.run_eagerly or not model.jit_compile),
            "waiting_hooks": lambda: waiting_hooks(self._hooks()) if self._waits else [],
            "late_hooks": lambda: late_hooks(self._hooks()) if self._waits else [],
            "late_hooks_s": self._late_hooks_s,
            "call_ms": self._call_ms,
            "state_reads": lambda: dict(self._reads.counts) if self._reads else {},
            "state_reads_s": lambda: dict(self._reads.seconds) if self._reads else {},
            "shapes_differ": lambda: batches.shapes_differ,
            "rows_differ": lambda: batches.rows_differ,
            "fetch_cpu_ms": lambda: batches.fetch_cpu_ms,
            "fetch_compiling_s": lambda: self.timeline.compiled_in_fetches_ns / 1e9,
            "fetched_mib": lambda: batches.mean_mib,
        }

    def _call_ms(self) -> float | None:
        steps = self.timeline.called_steps
        return self.timeline.calls_ns / 1e6 / steps if steps else None

    def _late_hooks_s(self) -> dict[str, float]:
        return {owner: ns / 1e9 for owner, ns in self.timeline.called_late_ns.items()}

    def operations_in_step(self, function: Any, traces: int) -> list[str]:
        """None is known."""
        return []

    def examples_per_step(self, model: keras.Model, steps: int) -> float | None:
        """From the batches that were fetched."""
        return self._stand_in.batches.mean_rows

    def traced_s(self) -> float:
        """As JAX tells it."""
        return traced_s()

    def gpus(self) -> Seen:
        """Those that JAX uses."""
        return gpus()

    def allocated_by_tag(self) -> dict[str, float]:
        """From JAX's allocators."""
        return allocated_by_tag()

    # -- beside the steps ------------------------------------------------------------------

    def trials(self, fit: Any, asked: Any, hooks: Callable[[], Any]) -> NoTrials:
        """None is made."""
        self._hooks, self._waits = hooks, keras_waits(calling_list())
        compiles = compiles_executions(fit.model)
        return NoTrials(WhyNoSteps.COMPILED_ON_JAX.of() if compiles else WhyNoSteps.ON_JAX.of())

    def validations(self, model: keras.Model, told: Any, clock: Callable[[], int]) -> Validations:
        """All of them."""

        def watch(*given: Any) -> JaxEvaluation:
            found = JaxEvaluation(*given)
            # What a hook evaluates may raise what the hook catches.
            found.raised = lambda error: calling_hook() is None and self._raised(error)
            return found

        return Validations(model, told, clock, watch)

    def calls_in_hooks(
        self,
        model: keras.Model,
        clock: Callable[[], int],
        raised: Callable[[BaseException], None],
    ) -> CallsInHooks:
        """All of them; what a validation raises is told where it is."""
        self._raised = raised
        return CallsInHooks(model, clock, lambda error: None)

    def release(self) -> None:
        """Lets go of the batches' iterator, and hears of no more compiling."""
        listen_no_more(self.timeline)
        self._stand_in.let_go()
        if self._reads is not None:
            self._reads.restore()

    @staticmethod
    def watch_call(kind: str, callback: Any, log: CallLog | None) -> CallLog | None:
        """Logs what is known of an `evaluate`; nothing tells when a `predict` is computed."""
        if kind != EVALUATE:
            _tell_of_predict()
            return log
        log = log or CallLog(callback.log_dir, OnJax.facts(callback.model))
        watch_call(kind, callback.model, log, callback.clock, JaxEvaluation)
        return log


@cache
def _tell_of_predict() -> None:
    """Once, for they are many where there are any."""
    logger.warning(
        "keras_perf: on JAX predict is not observed: Keras calls its last hook before the outputs "
        "are computed. fit, validations and evaluate are."
    )
