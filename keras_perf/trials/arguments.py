"""What every trial demands of its arguments."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from keras_perf.records.observed_backends import NO_TRIALS
from keras_perf.trials.compiled import require_compiled
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def check_compiled(model: keras.Model) -> None:
    """Raises unless `model` can be trained, with TensorFlow.

    Raises:
        ValueError: it is not compiled.
        NotImplementedError: Keras computes with something else.
    """
    if keras.backend.backend() != "tensorflow":
        raise NotImplementedError(f"keras_perf: {NO_TRIALS}.")
    require_compiled(model)


def check_dataset(dataset: Any) -> None:
    """Raises TypeError or ValueError unless `dataset` is a `tf.data.Dataset` of batches."""
    if not isinstance(dataset, tf.data.Dataset):
        raise TypeError(
            f"dataset must be a tf.data.Dataset of batches, got {type(dataset).__name__}. "
            "For arrays: tf.data.Dataset.from_tensor_slices((x, y)).batch(batch_size). What a "
            "PyDataset or a generator costs, StepGapDetector measures in fit."
        )
    if _holds_scalars(dataset):
        raise ValueError(
            "dataset must yield batches, got single values among "
            f"{dataset.element_spec}. Call dataset.batch(batch_size)."
        )


def check_replicas(model: keras.Model, graph: PipelineGraph) -> None:
    """Raises ValueError unless this process alone trains all replicas, and can end their input."""
    strategy = model.distribute_strategy
    if strategy.num_replicas_in_sync == 1:
        return
    if not isinstance(strategy, tf.distribute.MirroredStrategy):
        raise ValueError(
            f"model must train in this process alone to be tried, got {type(strategy).__name__}, "
            "whose other workers would have to try the same at the same time. Try it on one of "
            "them, outside of the strategy."
        )
    if any(map(graph.runs_python, graph.stages)):
        raise ValueError(
            "dataset must not run Python code to be tried on several replicas: an iterator of "
            "TensorFlow's that waits for it there could not be ended. Try it outside of the "
            "strategy."
        )


def dataset_of(batch: Any) -> tf.data.Dataset:
    """A dataset of this one batch.

    Raises:
        TypeError: `batch` is nothing that a dataset yields.
        ValueError: it has no axis of examples.
    """
    if not isinstance(batch, tuple | dict) and not tf.is_tensor(batch) and not _is_array(batch):
        raise TypeError(
            "batch must be what a dataset yields, a tuple (x, y), a dict or a tensor, got "
            f"{type(batch).__name__}. From a dataset: next(iter(dataset))."
        )
    dataset = tf.data.Dataset.from_tensors(batch)
    if _holds_scalars(dataset):
        raise ValueError(
            f"batch must have an axis of examples, got single values among "
            f"{dataset.element_spec}. From a dataset of batches: next(iter(dataset))."
        )
    return dataset


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__") and hasattr(value, "shape")


def _holds_scalars(dataset: tf.data.Dataset) -> bool:
    # None, as in (x, None), has a specification without a shape.
    shapes = [getattr(spec, "shape", None) for spec in tf.nest.flatten(dataset.element_spec)]
    return any(shape is not None and shape.rank == 0 for shape in shapes)
