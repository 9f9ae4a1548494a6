"""Trials on Keras's TensorFlow backend; see `TrialBackend`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from typing import Any

import keras
import tensorflow as tf

from keras_perf.trials.arguments import check_dataset as check_data
from keras_perf.trials.backends.tensorflow_memory import only_so_much, training_memory
from keras_perf.trials.benchmarks.train_step_benchmark import step_ms_within
from keras_perf.trials.compiled import NO_BATCH
from keras_perf.trials.learning_rate.losses import Losses
from keras_perf.trials.learning_rate.ramped_steps import ramped_steps
from keras_perf.trials.measuring.examples import examples_in
from keras_perf.trials.other_process.program_settings import ProgramSettings
from keras_perf.trials.rewriting.own_copy import own_copy
from keras_perf.trials.train_functions.restored import build, restored
from keras_perf.trials.train_functions.train_function import read_logs, train_function_of

__all__ = [
    "build",
    "check_alone",
    "check_data",
    "check_room",
    "examples",
    "execution",
    "first_batch",
    "load",
    "only_so_much",
    "prediction",
    "program_settings",
    "ramp",
    "save",
    "set_as_program",
    "step_ms_within",
    "tiled",
    "training_memory",
]


def first_batch(data: tf.data.Dataset) -> tf.data.Dataset:
    """As a dataset of its own; taken from a copy, so that shuffles keep their orders."""
    return _first(own_copy(data))


def _first(batches: tf.data.Dataset) -> tf.data.Dataset:
    batch = next(iter(batches), None)
    if batch is None:
        raise ValueError(NO_BATCH)
    return tf.data.Dataset.from_tensors(batch)


def examples(batch: tf.data.Dataset) -> int:
    """Rows of it."""
    return int(examples_in(next(iter(batch))))


def check_alone(model: keras.Model) -> None:
    """By the model's strategy."""
    replicas = model.distribute_strategy.num_replicas_in_sync
    if replicas > 1:
        raise ValueError(f"model must be for one device, got {replicas} replicas. Make it anew.")


def check_room() -> None:
    """TensorFlow is to take of a GPU only what this process needs."""
    if os.environ.get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower() == "true":
        return
    gpus = tf.config.get_visible_devices("GPU")
    if not all(tf.config.experimental.get_memory_growth(gpu) for gpu in gpus):
        raise ValueError(
            "other processes must find memory on the GPU, got one that TensorFlow takes whole. Set "
            "TF_FORCE_GPU_ALLOW_GROWTH=true before the program starts."
        )


def ramp(model: keras.Model, data: tf.data.Dataset) -> AbstractContextManager[Callable[[], Losses]]:
    """On a copy of the dataset, without end."""
    batches, strategy = own_copy(data), model.distribute_strategy
    batch = _first(batches)
    with strategy.scope():
        build(model, batch)
    iterator = iter(strategy.experimental_distribute_dataset(batches.repeat()))
    return _ramped(model, train_function_of(model, 1, iterator), iterator)


@contextmanager
def _ramped(model: keras.Model, function: Any, iterator: Any) -> Iterator[Callable[[], Losses]]:
    with restored(model, function, iterator), model.distribute_strategy.scope():
        yield lambda: ramped_steps(model, function, iterator)


def save(batch: tf.data.Dataset, place: str) -> None:
    """In tf.data's own format."""
    batch.save(place)


def program_settings() -> dict[str, Any]:
    """Threads, GPUs and digits."""
    return asdict(ProgramSettings.of_this_process())


def set_as_program(settings: dict[str, Any]) -> None:
    """Before TensorFlow starts its devices."""
    ProgramSettings(**settings).apply()


def load(place: str) -> tf.data.Dataset:
    """What was saved."""
    return tf.data.Dataset.load(place)


def tiled(batch: tf.data.Dataset, batch_size: int) -> tf.data.Dataset:
    """One batch of this size, of the examples of a smaller or larger one, again and again."""

    def resize(leaf: tf.Tensor | None) -> tf.Tensor | None:
        if leaf is None:
            return None
        shape = leaf.bounding_shape() if isinstance(leaf, tf.RaggedTensor) else tf.shape(leaf)
        return tf.gather(leaf, tf.range(batch_size) % tf.cast(shape[0], tf.int32))

    # In the host's memory, where a dataset's batches are made.
    with tf.device("CPU"):
        return tf.data.Dataset.from_tensors(tf.nest.map_structure(resize, next(iter(batch))))


def execution(model: keras.Model, batch: tf.data.Dataset) -> tuple[Callable[[], object], int]:
    """One of Keras's own train function, with the model's steps per execution."""
    iterator = iter(batch.repeat())
    per_execution = model.steps_per_execution
    function = train_function_of(model, per_execution, iterator)
    return lambda: read_logs(function(iterator)), per_execution


def prediction(model: keras.Model, batch: tf.data.Dataset) -> Callable[[], object]:
    """On its tensors."""
    inputs, _, _ = keras.utils.unpack_x_y_sample_weight(next(iter(batch)))
    return lambda: model.predict_on_batch(inputs)
