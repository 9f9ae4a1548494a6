"""Keras on TensorFlow: what its steps, its input and its devices tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_perf.capture import profiler_door
from keras_perf.observation.backend import TrainFunction
from keras_perf.observation.facts.batch_shapes import differ_in_more_than_rows, rows_may_differ
from keras_perf.observation.facts.in_the_step import OperationsInTheStep
from keras_perf.observation.facts.input.pipeline_model import PipelineModel
from keras_perf.observation.facts.machine.device_memory import allocated_by_tag, device_memory
from keras_perf.observation.facts.machine.gpu_use import gpu_use_facts, variables_on
from keras_perf.observation.facts.machine.machine_facts import machine_facts
from keras_perf.observation.facts.model_facts import (
    examples_per_step,
    keras_settings,
    model_facts,
)
from keras_perf.observation.facts.step_work import WorkQuestion
from keras_perf.observation.facts.tracing_time import trace_counter, traced_s
from keras_perf.observation.input_model import InputModel
from keras_perf.observation.of_calls.call_log import CallLog
from keras_perf.observation.of_calls.tensorflow_call import TensorFlowCall
from keras_perf.observation.of_calls.tensorflow_calls_in_hooks import TensorFlowCallsInHooks
from keras_perf.observation.of_calls.validations import Validations
from keras_perf.observation.of_calls.watch_call import watch_call
from keras_perf.observation.of_fit.trials_of_fit import TrialsOfFit
from keras_perf.observation.of_fit.workers_of_fit import time_batches
from keras_perf.observers.asking import Questions
from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.observers.steps.timeline import Timeline
from keras_perf.records.run.devices.device_memory import peaks
from keras_perf.trials.train_functions.keras_function import takes_batches


class OnTensorFlow:
    """See `Backend`.

    Arguments:
        clock: of the training, in nanoseconds.
    """

    end_of_data = (StopIteration, tf.errors.OutOfRangeError)
    datasets_alone: str | None = None
    counts_by_loss = True
    profiler = profiler_door

    def __init__(self, clock: Callable[[], int]) -> None:
        self.timeline, self._now = Timeline(), clock
        self._give_back: Callable[[], None] = lambda: None
        self.work = WorkQuestion()
        self.operations_in_step = OperationsInTheStep()

    def called(self, function: TrainFunction) -> TrainFunction:
        """It is called so as it is."""
        return function

    def stand_in(self, model: keras.Model, execute: TrainFunction) -> TrainFunction:
        """Keras calls it with the iterator."""
        return execute

    def input_model(self, iterator: Any) -> InputModel:
        """tf.data's own model of it."""
        return PipelineModel(iterator)

    def time_workers(self, enqueuer: Any | None) -> None:
        """tf.data keeps no model of their pipeline, whose autotuning Keras turns off."""
        if enqueuer is not None:
            self._give_back = time_batches(enqueuer, self.timeline.fetched, self._now)

    def trace_counter(self, function: Any) -> Callable[[], int]:
        """Counts traces of the `tf.function`."""
        return trace_counter(function)

    def fetches_before_tracing(self, function: Any) -> bool:
        """As Keras from 3.16 on has it."""
        return takes_batches(function)

    def compiles_unseen(self, model: keras.Model) -> bool:
        """No public counter tells what XLA compiles."""
        return bool(model.jit_compile)

    def many_shapes(self, pipeline: InputModel) -> bool:
        """As the iterator's `element_spec` tells."""
        return differ_in_more_than_rows(pipeline)

    def rows_may_differ(self, pipeline: InputModel) -> bool:
        """As the iterator's `element_spec` tells."""
        return rows_may_differ(pipeline)

    def facts_at_begin(self) -> Questions:
        """Whether the machine's GPUs can be used, and are, and what they have held before."""
        return {**gpu_use_facts(), "earlier_peaks": lambda: peaks(device_memory())}

    @staticmethod
    def facts(model: keras.Model) -> Questions:
        """Versions, settings, sizes."""
        return {
            **machine_facts(),
            **model_facts(model),
            "variables_on": lambda: variables_on(model),
            "unrolled_steps_per_execution": lambda: model.unrolled_steps_per_execution,
        }

    def settings(self, model: keras.Model) -> Questions:
        """Keras's, and the strategy."""
        strategy = model.distribute_strategy
        return {
            **keras_settings(model),
            "run_eagerly": lambda: bool(model.run_eagerly) or tf.config.functions_run_eagerly(),
            "eager_functions": tf.config.functions_run_eagerly,
            "strategy": lambda: type(strategy).__name__,
            "replicas": lambda: int(strategy.num_replicas_in_sync),
        }

    def examples_per_step(self, model: keras.Model, steps: int) -> float | None:
        """From the loss metric."""
        return examples_per_step(model, steps)

    def traced_s(self) -> float | None:
        """From TensorFlow's own counter."""
        return traced_s()

    def gpus(self) -> Seen:
        """Those that TensorFlow trains on, by what CUDA shows it."""
        there = tf.config.list_physical_devices("GPU")
        chosen = tuple(there.index(gpu) for gpu in tf.config.get_visible_devices("GPU"))
        return Seen(len(there), chosen)

    def allocated_by_tag(self) -> dict[str, float]:
        """From TensorFlow's allocators."""
        return allocated_by_tag()

    def trials(self, fit: Any, asked: Any, hooks: Callable[[], Any]) -> TrialsOfFit:
        """Longer executions are loops around the traced function."""
        return TrialsOfFit(fit, asked, hooks)

    def validations(self, model: keras.Model, told: Any, clock: Callable[[], int]) -> Validations:
        """All of them."""
        return Validations(model, told, clock, TensorFlowCall)

    def calls_in_hooks(
        self,
        model: keras.Model,
        clock: Callable[[], int],
        raised: Callable[[BaseException], None],
    ) -> TensorFlowCallsInHooks:
        """All of them."""
        return TensorFlowCallsInHooks(model, clock, raised)

    def release(self) -> None:
        """Gives back what is timed."""
        self._give_back()

    @staticmethod
    def watch_call(kind: str, callback: Any, log: CallLog | None) -> CallLog:
        """Logs what is known of an `evaluate` or `predict`; the log for the next one."""
        log = log or CallLog(callback.log_dir, OnTensorFlow.facts(callback.model))
        watch_call(kind, callback.model, log, callback.clock, TensorFlowCall)
        return log
