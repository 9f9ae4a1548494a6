"""Shapes of a flat graph's tensors, and numbers that follow from them, as TensorFlow infers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.flops.flat_graph import FlatGraph
from keras_perf.observation.facts.flops.operations import Shape


def definitions_of(library: Iterable[Any], nodes: Iterable[Any]) -> dict[str, Any]:
    """Operation → its definition, of all in these nodes and functions."""
    called = {function.signature.name for function in library}
    each = [*nodes, *(node for function in library for node in function.node_def)]
    used = sorted({node.op for node in each} - called)
    graph = tf.compat.v1.GraphDef(node=[tf.compat.v1.NodeDef(name=op, op=op) for op in used])
    listed = tf.compat.v1.train.export_meta_graph(graph_def=graph, graph=tf.Graph())
    return {each.name: each for each in listed.meta_info_def.stripped_op_list.op}


class Inferred:
    """What TensorFlow infers of a flat graph, which is never run.

    Arguments:
        flat: the graph.
        names: of its nodes, those that are asked for, with all that they need.
    """

    def __init__(self, flat: FlatGraph, names: Iterable[str]) -> None:
        self._graph = tf.Graph()
        made = tf.compat.v1.GraphDef(node=[flat.nodes[name] for name in names])
        made.versions.producer = tf.version.GRAPH_DEF_VERSION
        with self._graph.as_default():
            tf.graph_util.import_graph_def(made, name="")

    def shape(self, tensor: str) -> Shape:
        """Of a tensor."""
        found = self._graph.get_tensor_by_name(tensor).shape
        return None if found.rank is None else tuple(found.as_list())

    def bytes_per_element(self, tensor: str) -> int:
        """Of a tensor."""
        return int(self._graph.get_tensor_by_name(tensor).dtype.size)

    def dtype(self, tensor: str) -> str:
        """Of a tensor, such as `float32`."""
        return str(self._graph.get_tensor_by_name(tensor).dtype.name)

    def whole_number(self, tensor: str) -> int | None:
        """Its value, if it is one that is the same in every run and not negative."""
        found = self._graph.get_tensor_by_name(tensor)
        if not found.dtype.is_integer or found.shape.rank != 0:
            return None
        with self._graph.as_default():
            # As a length it is computed as other lengths are.
            length = tf.fill(tf.reshape(found, [1]), False).shape
        return None if length.rank is None else length.as_list()[0]
