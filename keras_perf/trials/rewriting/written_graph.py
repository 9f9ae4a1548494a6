"""A dataset written as a graph that TensorFlow reads back, alone."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef

IGNORE_STATE = 1
"""`external_state_policy`: variables and generators that functions hold are written with the values
that they have then, without a warning."""

HALF_A_DEVICE = "/device::0"
"""What stripping leaves of a device that names a task only, as `tf.py_function` does; TensorFlow
does not read it back."""


def written_graph(dataset: tf.data.Dataset) -> GraphDef:
    """Its stages and functions. Raises what TensorFlow raises where it cannot write one."""
    written = tf.raw_ops.DatasetToGraphV2(
        input_dataset=tf.data.experimental.to_variant(dataset),
        external_state_policy=IGNORE_STATE,
        strip_device_assignment=True,
    )
    definition = GraphDef.FromString(written.numpy())
    _without_half_devices(definition)
    _own_caches(definition)
    return definition


def _without_half_devices(definition: GraphDef) -> None:
    for function in definition.library.function:
        for node in function.node_def:
            if node.device == HALF_A_DEVICE:
                node.device = ""


def _own_caches(definition: GraphDef) -> None:
    """Each dataset of the graph has caches of its own, not those of the dataset it was made of."""
    for node in definition.node:
        if node.op == "CacheDatasetV2":
            node.op = "CacheDataset"
            # Its third input is the cache's handle.
            del node.input[2:]
