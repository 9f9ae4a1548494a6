"""Where the shuffles of a graph take their seeds from."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.functions.written_variables import node_of

SEEDED = {"ShuffleDatasetV3": 2, "RandomDatasetV2": 0}
"""Stages with a generator of seeds: where their two seeds are among the inputs, before it."""

WITHOUT_GENERATOR = {"AnonymousSeedGenerator": 0, "ShuffleAndRepeatDataset": 2}
"""What has two seeds alone, and where; the latter is `tf.data.experimental.shuffle_and_repeat`."""

ANEW_EACH_PASS = ("reshuffle_each_iteration", "rerandomize_each_iteration")
"""Attributes of such stages: every pass has an order of its own."""


def draw_anew(definition: GraphDef) -> bool:
    """Shuffles and random datasets begin with their first order, each copy by itself.

    As written they go on with the generator that the dataset has, for all copies together. Stages
    that had one in common, as a dataset has that is read twice, have one in common.

    Returns:
        Whether there are such, and each pass has an order of its own.
    """
    was = {node.name: node for node in definition.node}
    generators: dict[bytes, str] = {}
    nodes: list[NodeDef] = []
    shared = False
    for node in definition.node:
        if node.op in SEEDED:
            first = SEEDED[node.op]
            wires = [node_of(wire) for wire in node.input[first : first + 3]]
            key = b"".join(was[wire].attr["value"].SerializeToString() for wire in wires)
            each_pass = any(node.attr[each].b for each in ANEW_EACH_PASS if each in node.attr)
            shared = shared or (each_pass and key in generators)
            if key not in generators:
                name = f"seed_generator/tuned_{len(generators)}"
                again = _constant(f"{name}/reshuffle", each_pass, tf.bool)
                inputs = [*node.input[first : first + 2], again.name]
                nodes += [again, NodeDef(name=name, op="AnonymousSeedGenerator", input=inputs)]
                generators[key] = name
            node.input[first + 2] = generators[key]
        nodes.append(node)
    _replace(definition, nodes)
    return shared


def fix_seeds(definition: GraphDef) -> None:
    """The same order in every shuffle that has no seed, and in those that have one."""
    seeds = [_constant(f"seed/tuned_{value}", value, tf.int64) for value in (7, 11)]
    places = SEEDED | WITHOUT_GENERATOR
    for node in definition.node:
        first = places.get(node.op)
        if first is not None:
            node.input[first], node.input[first + 1] = (each.name for each in seeds)
    _replace(definition, [*seeds, *definition.node])


def _constant(name: str, value: int, dtype: tf.DType) -> NodeDef:
    node = NodeDef(name=name, op="Const")
    node.attr["dtype"].type = dtype.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
    return node


def _replace(definition: GraphDef, nodes: list[NodeDef]) -> None:
    copies = list(nodes)
    del definition.node[:]
    definition.node.extend(copies)
