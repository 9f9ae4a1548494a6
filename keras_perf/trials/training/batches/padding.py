"""Batches of few lengths, in place of many."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def some_axis_varies(element_spec: Any) -> bool:
    """An axis other than the rows may differ from batch to batch."""
    return any(_can_be_padded(spec) for spec in tf.nest.flatten(element_spec))


def padded(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Zeros at the end of every axis that varies, up to the next power of two."""
    specs = tf.nest.flatten(dataset.element_spec)

    def pad(*element: Any) -> Any:
        whole = element if len(element) > 1 else element[0]
        leaves = [
            _padded(leaf, spec.shape) if _can_be_padded(spec) else leaf
            for leaf, spec in zip(tf.nest.flatten(whole), specs, strict=True)
        ]
        return tf.nest.pack_sequence_as(whole, leaves)

    return dataset.map(pad, num_parallel_calls=tf.data.AUTOTUNE)


def _can_be_padded(spec: Any) -> bool:
    if not isinstance(spec, tf.TensorSpec) or spec.shape.rank is None or spec.dtype == tf.string:
        return False
    return None in spec.shape[1:].as_list()


def _padded(tensor: tf.Tensor, shape: tf.TensorShape) -> tf.Tensor:
    now = tf.shape(tensor)
    doublings = tf.range(31, dtype=tf.int32)
    powers = tf.bitwise.left_shift(tf.ones_like(doublings), doublings)
    next_power = tf.gather(powers, tf.searchsorted(powers, now))
    varies = tf.constant([axis > 0 and size is None for axis, size in enumerate(shape)])
    more = tf.where(varies, next_power - now, 0)
    return tf.pad(tensor, tf.stack([tf.zeros_like(more), more], axis=1))
