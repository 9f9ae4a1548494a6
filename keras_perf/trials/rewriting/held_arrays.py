"""The arrays that a dataset holds in memory."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

MOST_MIB = 2048
"""Of a graph that can be written. Where it fails for that, TensorFlow has copied all before."""


def held_mib(dataset: tf.data.Dataset) -> float:
    """MiB of the tensors that its stages are made of, or their functions have captured.

    To write the dataset as a graph, which would tell, copies them three times. So this asks the
    private `_inputs`, `_functions` and `_tensors`. Where they are missing it finds nothing, and
    such a dataset is copied before it is known to be too large.

    What it cannot see: texts; arrays that Python code holds.
    """
    try:
        return sum(map(_bytes, _held(dataset).values())) / 2**20
    except Exception:  # noqa: BLE001  what is read is not public, and the graph tells as well
        return 0.0


def _held(dataset: Any) -> dict[int, Any]:
    """Of the dataset and all that it takes its elements from, each once."""
    found: dict[int, Any] = {}
    pending, seen = [dataset], dict[int, Any]()
    while pending:
        stage = pending.pop()
        if id(stage) in seen:
            continue
        seen[id(stage)] = stage
        pending.extend(stage._inputs())
        captured = [each for w in stage._functions() for each in w.function.captured_inputs]
        found |= {id(each): each for each in (*getattr(stage, "_tensors", ()), *captured)}
    return found


def _bytes(tensor: Any) -> int:
    """Of a number of each element; handles hold no more than that."""
    return int(tensor.dtype.size * (tensor.shape.num_elements() or 0))
