"""A whole training on trial on Keras's TensorFlow backend; see `TrainingBackend`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import keras
import tensorflow as tf

from keras_perf.trials.arguments import check_replicas
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.train_functions.function_on_trial import function_on_trial
from keras_perf.trials.train_functions.on_replicas import differs_on_replicas
from keras_perf.trials.train_functions.restored import KeptState, build
from keras_perf.trials.train_functions.traced_step import (
    TracedStep,
    require_keras_function,
    traced_step,
)
from keras_perf.trials.train_functions.train_function import TrainFunction, read_logs

__all__ = [
    "compiles_instead",
    "eager_only_if",
    "executions",
    "gpu_capability",
    "kept",
    "make_ready",
    "on_gpu",
    "read_logs",
    "require_several",
    "runs_eagerly",
    "scope",
    "strategy",
    "train_function",
    "waits",
    "why_no_environment",
    "why_no_several_steps",
]


def make_ready(model: keras.Model, graph: PipelineGraph) -> None:
    """On its replicas, which this process alone must train."""
    check_replicas(model, graph)
    with scope(model):
        build(model, graph.dataset())


def scope(model: keras.Model) -> AbstractContextManager[object]:
    """The strategy's."""
    found: AbstractContextManager[object] = model.distribute_strategy.scope()
    return found


def strategy(model: keras.Model) -> tf.distribute.Strategy | None:
    """The model's."""
    found = model.distribute_strategy
    return found if found.num_replicas_in_sync > 1 else None


def on_gpu() -> bool:
    """TensorFlow has started one."""
    return bool(tf.config.list_logical_devices("GPU"))


def gpu_capability() -> tuple[int, ...] | None:
    """As TensorFlow tells it."""
    gpus = tf.config.get_visible_devices("GPU")
    details = tf.config.experimental.get_device_details(gpus[0]) if gpus else {}
    capability: tuple[int, ...] | None = details.get("compute_capability")
    return capability


def runs_eagerly() -> bool:
    """By `tf.config.run_functions_eagerly`."""
    return bool(tf.config.functions_run_eagerly())


def waits(callbacks: Iterable[keras.callbacks.Callback]) -> bool:
    """Always."""
    return True


def kept(model: keras.Model) -> KeptState:
    """Its train functions tell what else they use."""
    return KeptState(model)


@contextmanager
def eager_only_if(run_eagerly: bool) -> Iterator[None]:
    """Traces functions, unless the training is to run eagerly."""
    if run_eagerly or not tf.config.functions_run_eagerly():
        yield
        return
    tf.config.run_functions_eagerly(False)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(True)


def train_function(
    model: keras.Model, steps: int, iterator: Any, *, jit_compile: bool, run_eagerly: bool
) -> TrainFunction:
    """Traced for the iterator, unless it runs eagerly."""
    settings = {"jit_compile": jit_compile, "run_eagerly": run_eagerly}
    return function_on_trial(model, steps, iterator, **settings)


def require_several(
    model: keras.Model,
    function: TrainFunction,
    present: Callable[[], TrainFunction],
    iterator: Any,
    calls: int,
) -> None:
    """Only Keras's own is known to run several steps, and on several replicas it is tried."""
    require_keras_function(function)
    several = strategy(model)
    if several is None:
        return
    step = traced_step(present(), iterator)
    assert step is not None
    if why := differs_on_replicas(several, _Executions(step, function), iterator, calls):
        raise ValueError(why)


@dataclass(frozen=True)
class _Executions:
    """Calls of the present train function, beside one of Keras's that runs all of their steps."""

    step: TracedStep
    all_at_once: TrainFunction

    def run(self, iterator: Any, calls: int) -> Any:
        return self.all_at_once(iterator)


def executions(
    kept: KeptState, function: TrainFunction, model: keras.Model, steps: int, iterator: Any
) -> AbstractContextManager[Callable[[], Any]]:
    """Calls on the iterator."""
    return nullcontext(partial(function, iterator))


def compiles_instead(jit_compile: bool) -> bool:
    """As before: without XLA there is a graph."""
    return jit_compile


def why_no_several_steps() -> str:
    """They are."""
    return ""


def why_no_environment() -> str:
    """They are."""
    return ""
