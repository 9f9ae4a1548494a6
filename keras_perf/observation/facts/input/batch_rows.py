"""How many examples a batch has, asked of what `fit` was given, before any was trained on."""

from __future__ import annotations

import math
from typing import Any

import keras

from keras_perf.observation.facts.input.given_input import kind_of_input
from keras_perf.observation.facts.input.tf_data import tensorflow_of
from keras_perf.observers.asking import unwarned

KERAS_BATCH = 32
"""What `fit` makes of arrays where nobody says another number."""

AS_THEY_ARE = "Cache", "Options", "Prefetch", "Repeat", "Shuffle", "Skip", "Take"
"""In the names of stages that pass batches on as they are."""


def rows_of_batches(data: Any, batch_size: Any, steps: Any = None) -> int | None:
    """Examples of a whole batch; None where that cannot be seen.

    Arguments:
        data: `x` of `fit`.
        batch_size: `batch_size` of `fit`.
        steps: its `steps_per_epoch`.

    A dataset tells its shape in public only where `batch` drops the remainder; else this asks the
    private `_batch_size` of the last stage that makes batches. Without it a training that runs out
    of memory in its first step is told no batch size.
    """
    try:
        if kind_of_input(data) == "arrays":
            return rows_of_arrays(data, batch_size, steps)
        tensorflow = tensorflow_of(data)
        return unwarned(_rows, data, tensorflow) if tensorflow else None
    except Exception:  # noqa: BLE001  what is read is not public, and one sentence depends on it
        return None


def mean_rows(data: Any, batch_size: Any, steps: Any = None) -> float | None:
    """Examples of a batch on average, as training gets it; None where stages may change it.

    Arguments as of `rows_of_batches`. Only stages that pass batches on as they are may follow the
    one that makes them.

    What it cannot see: that a dataset's last batch is smaller; that a train step takes something
    else than rows of its first input for examples, such as the batches in an element.
    """
    try:
        if kind_of_input(data) == "arrays":
            rows, length = rows_of_arrays(data, batch_size, steps), length_of(data)
            return length / math.ceil(length / rows) if rows and length else rows
        tensorflow = tensorflow_of(data)
        return unwarned(_rows, data, tensorflow, True) if tensorflow else None
    except Exception:  # noqa: BLE001  what is read is not public, and some figures depend on it
        return None


def rows_of_arrays(data: Any, batch_size: Any, steps: Any) -> int | None:
    """Of a whole batch that Keras makes; of all rows so many, where it is told `steps` alone."""
    if batch_size or not steps:
        return int(batch_size or KERAS_BATCH)
    rows = length_of(data)
    return None if rows is None else -(-rows // int(steps))


def length_of(arrays: Any) -> int | None:
    """How many rows they have; None where the first of them tells no shape."""
    shapes = [getattr(each, "shape", None) for each in keras.tree.flatten(arrays)]
    return int(shapes[0][0]) if shapes and shapes[0] else None


def _rows(dataset: Any, tf: Any, exactly: bool = False) -> int | None:
    shape = tf.nest.flatten(dataset.element_spec)[0].shape
    if shape.rank and shape[0] is not None:
        return int(shape[0])
    node = dataset
    while not hasattr(node, "_batch_size"):
        if exactly and not any(each in type(node).__name__ for each in AS_THEY_ARE):
            return None
        [node] = node._inputs()
    rows = tf.get_static_value(node._batch_size)
    return None if rows is None else int(rows)
