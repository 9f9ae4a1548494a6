"""Gives the tensor lists of loops the shapes of what they hold.

TensorFlow knows of a list only the shape that was declared where it was made, often without the
number of examples. What a loop puts into it tells more.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.flops.flat_graph import OPAQUE, FlatGraph

_PUTS = {"TensorListPushBack": 1, "TensorListSetItem": 2}
"""Operation → its input that goes into the list."""

_TAKES = "TensorListPopBack"
_HANDS_ON = (*_PUTS, _TAKES, OPAQUE, "Identity", "Merge", "TensorListResize")
_MADE_EMPTY = ("EmptyTensorList", "TensorListReserve")
_MADE_OF_TENSOR = "TensorListFromTensor"


def follow_lists(flat: FlatGraph) -> None:
    """Rewrites the graph so that what comes out of a list has the shape of what was put into it.

    Gradients of loops pop what the loop has pushed: they read it where it was made. There its
    value is known only if it is the same in every round, as the shape of a tensor is.
    """
    put = [node for node in flat.nodes.values() if node.op in _PUTS]
    makers = {node.name: _maker(flat, node) for node in put}
    places = Counter(maker.name for maker in makers.values() if maker is not None)
    items: dict[str, str] = {}
    for node in put:
        maker, item = makers[node.name], node.input[_PUTS[node.op]]
        if maker is None or places[maker.name] > 1 or flat.needs(item, maker.name):
            continue
        items[maker.name] = item
        maker.input[0] = _shape_of(flat, item, maker, node.attr["element_dtype"].type)
    for node in list(flat.nodes.values()):
        if node.op == _MADE_OF_TENSOR:
            row = _row_of(flat, node)
            node.input[1] = _shape_of(flat, row, node, node.attr["element_dtype"].type)
    _read_where_made(flat, items)


def _read_where_made(flat: FlatGraph, items: dict[str, str]) -> None:
    taken = {}
    for node in flat.nodes.values():
        if node.op == _TAKES and (maker := _maker(flat, node)) is not None:
            item = items.get(maker.name)
            if item is not None and not flat.needs(item, node.name):
                taken[f"{node.name}:1"] = item
    for node in flat.nodes.values():
        for place, tensor in enumerate(node.input):
            # What was popped may have been pushed again.
            while tensor in taken:
                tensor = node.input[place] = taken[tensor]


def _maker(flat: FlatGraph, node: Any) -> Any | None:
    """The node that makes the list that this one puts into, or takes from, if it is known."""
    while node.op in _HANDS_ON:
        node = flat.node_of(node.input[0])
    return node if node.op in _MADE_EMPTY else None


def _row_of(flat: FlatGraph, node: Any) -> str:
    first = tf.compat.v1.NodeDef(name=f"{node.name}/first", op="Const")
    first.attr["dtype"].type = tf.int32.as_datatype_enum
    first.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(0))
    row = tf.compat.v1.NodeDef(name=f"{node.name}/row", op="Gather")
    row.input.extend([node.input[0], f"{first.name}:0"])
    row.attr["Tparams"].type = node.attr["element_dtype"].type
    row.attr["Tindices"].type = tf.int32.as_datatype_enum
    flat.add(first, beside=node.name)
    flat.add(row, beside=node.name)
    return f"{row.name}:0"


def _shape_of(flat: FlatGraph, tensor: str, maker: Any, kind: int) -> str:
    shape = tf.compat.v1.NodeDef(name=f"{maker.name}/elements", op="Shape", input=[tensor])
    shape.attr["T"].type = kind
    shape.attr["out_type"].type = maker.attr["shape_type"].type
    flat.add(shape, beside=maker.name)
    return f"{shape.name}:0"
