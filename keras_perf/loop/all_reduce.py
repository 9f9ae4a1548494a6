"""Sums over all replicas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def sum_over_replicas(tensors: Sequence[Any]) -> list[Any]:
    """The sums of tensors over all replicas; to be called by each replica, in a graph.

    One collective for each dtype: TensorFlow joins what it is given, and cannot mix them.
    """
    context = tf.distribute.get_replica_context()
    summed: dict[int, Any] = {}
    for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
        places = [place for place, tensor in enumerate(tensors) if tensor.dtype == dtype]
        of_dtype = [tensors[place] for place in places]
        found = context.all_reduce(tf.distribute.ReduceOp.SUM, of_dtype)
        summed.update(zip(places, found, strict=True))
    return [summed[place] for place in range(len(tensors))]
