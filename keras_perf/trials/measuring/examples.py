"""How many examples there are in what a dataset yields."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf


def examples_in(batch: Any) -> tf.Tensor:
    """Number of examples of a batch as a dataset yields it, in a graph too."""
    inputs, _, _ = keras.utils.unpack_x_y_sample_weight(batch)
    first = next(leaf for leaf in tf.nest.flatten(inputs) if leaf is not None)
    return tf.cast(tf.shape(first)[0], tf.int64)
