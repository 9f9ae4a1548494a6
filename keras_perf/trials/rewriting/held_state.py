"""State that a dataset's functions hold, and that a graph has copies of."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

SEEDS = ((2,), (3,))
"""Shapes of a random generator's state: Keras's, and `tf.random.Generator`'s."""


def reason_against_copies(graph: PipelineGraph) -> str:
    """Why a dataset made of this graph would not go on as the one it was written of; "" if it does.

    TensorFlow writes a variable with the value that it has then. A generator's draws are the same
    from a copy of its state; what anybody else reads or writes is not.
    """
    if any(any(map(_takes, graph.changing(stage))) for stage in graph.stages):
        return "take from an iterator or a queue in a map, which trials would take from as well"
    if _left_in_the_middle(graph):
        return (
            "leave a repeated shuffle, or a generator's draws, before their end: what the next "
            "pass begins with would depend on how far this one reads ahead (take before you repeat)"
        )
    states: list[bytes] = []
    for node in graph.definition.node:
        if node.op.startswith("MutableHashTable") or node.op.startswith("MutableDenseHashTable"):
            return "use a table that can change, of which a changed dataset would hold a copy"
        if node.op == "VarHandleOp":
            if not _may_be_seeds(node):
                return "use a variable in a map, of which a changed dataset would hold a copy"
            states += _written(graph, node)
        if node.op.startswith("CacheDataset") and (file := graph.value(node.input[1])):
            return f"keep a cache in a file ({file.item().decode()!r}), which trials would write"
    if len(states) != len(set(states)):
        return (
            "draw from one random generator in two maps, whose copies would draw alike (give each "
            "a generator or a layer of its own, with a seed of its own)"
        )
    return ""


def _takes(operation: str) -> bool:
    return operation.startswith(("Iterator", "Queue", "Unstage", "MapUnstage", "Barrier", "Stack"))


def _left_in_the_middle(graph: PipelineGraph) -> bool:
    """What goes on from pass to pass stands before a stage that need not take all of it."""
    reshuffled = repeated = endless = writes = False
    for stage in graph.stages:
        both = stage.op.startswith("ShuffleAndRepeat")
        if both or (stage.op.startswith("Shuffle") and stage.attr["reshuffle_each_iteration"].b):
            reshuffled = True
        if reshuffled and (both or stage.op.startswith("Repeat")):
            count = graph.value(stage.input[-1])
            repeated, endless = True, endless or both or count is None or count < 0
        writes = writes or graph.writes(stage)
        if (repeated or writes) and stage.op.startswith("Take"):
            return True
        if endless and stage.op.startswith(("Zip", "DirectedInterleave")):
            return True
    return False


def _may_be_seeds(handle: NodeDef) -> bool:
    shape = tuple(axis.size for axis in handle.attr["shape"].shape.dim)
    return tf.as_dtype(handle.attr["dtype"].type).is_integer and shape in SEEDS


def _written(graph: PipelineGraph, handle: NodeDef) -> Iterator[bytes]:
    """What the copy of a variable begins with."""
    for node in graph.definition.node:
        if node.op == "AssignVariableOp" and node.input[0] == handle.name:
            yield graph.value(node.input[1]).tobytes()
