"""The function of a map for a whole batch, made from the one for an element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.functions.exact_operations import ONE_BY_ONE, is_exact
from keras_perf.trials.rewriting.functions.written_variables import node_of

Known = dict[str, tf.Tensor]
"""Tensors by the names that the function has for them."""


class CannotBatchError(ValueError):
    """It is not known how to give the function a batch."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def batched(
    function: FunctionDef,
    elements: Sequence[tf.TensorSpec],
    captured: Sequence[tf.TensorSpec],
) -> tuple[str, list[FunctionDef]]:
    """A function that takes batches of what this one takes, by `tf.vectorized_map`.

    Returns:
        Its name, and the definitions that it consists of.

    Arguments:
        function: of an element, as a map of a dataset has it.
        elements: its first arguments, of an element.
        captured: its last arguments, the same for all elements.

    Raises:
        CannotBatchError: it has operations whose results might differ in a batch.
    """
    others = sorted({node.op for node in function.node_def if not is_exact(node, function)})
    if others:
        raise CannotBatchError(WhyNotTried.OPERATIONS.of(operations=" and ".join(others[:3])))
    signature = [tf.TensorSpec([None, *spec.shape], spec.dtype) for spec in elements]

    def of_batch(*arguments: tf.Tensor) -> list[tf.Tensor]:
        stacked, same = arguments[: len(elements)], arguments[len(elements) :]
        return _OfBatch(function, stacked, same).results()

    graph_of = tf.function(of_batch, input_signature=[*signature, *captured], autograph=False)
    try:
        concrete = graph_of.get_concrete_function()
    except Exception as error:
        # TensorFlow fails in many ways where it does not know an operation.
        why = str(error).partition("\n")[0].rstrip(".")
        raise CannotBatchError(WhyNotTried.NOT_BATCHED.of(error=why)) from error
    return _definition(concrete, [*signature, *captured])


def _definition(concrete: Any, signature: list[tf.TensorSpec]) -> tuple[str, list[FunctionDef]]:
    """As the library of a graph has it that calls the function."""
    with tf.Graph().as_default() as graph:
        concrete(*(tf.compat.v1.placeholder(spec.dtype, spec.shape) for spec in signature))
    written = graph.as_graph_def()
    [call] = [node for node in written.node if "PartitionedCall" in node.op]
    return call.attr["f"].func.name, list(written.library.function)


class _OfBatch:
    """The function's operations, for all elements of a batch at once.

    Those that `vectorized_map` does not know but that can be given a batch are given it; what lies
    between them goes through `vectorized_map`.
    """

    def __init__(
        self, function: FunctionDef, stacked: Sequence[tf.Tensor], same: Sequence[tf.Tensor]
    ) -> None:
        names = [argument.name for argument in function.signature.input_arg]
        self._function = function
        self._nodes = {node.name: node for node in function.node_def}
        self._stacked: Known = dict(zip(names, stacked, strict=False))
        self._same: Known = dict(zip(names[len(stacked) :], same, strict=True))
        self._varying: dict[str, bool] = {}

    def results(self) -> list[tf.Tensor]:
        """In the order in which the function returns them, one row an element."""
        order: list[NodeDef] = []
        for wire in self._function.ret.values():
            self._collect(wire, order)
        for node in order:
            if node.op in ONE_BY_ONE and self._varies(node.name):
                self._give_batch(node)
        outputs = self._function.signature.output_arg
        return self._rows([self._function.ret[each.name] for each in outputs])

    def _give_batch(self, node: NodeDef) -> None:
        wires = _wires(node)
        varying = [wire for wire in wires if self._varies(wire)]
        known = {**self._same, **dict(zip(varying, self._rows(varying), strict=True))}
        inputs = [self._value(wire, known) for wire in wires]
        self._stacked.update(_applied(node, inputs))

    def _rows(self, wires: list[str]) -> list[tf.Tensor]:
        """Values for each element, stacked."""

        def of_element(rows: Known) -> list[tf.Tensor]:
            known = {**self._same, **rows}
            return [self._value(wire, known) for wire in wires]

        return list(
            tf.vectorized_map(of_element, self._stacked, fallback_to_while_loop=False, warn=False)
        )

    def _value(self, wire: str, known: Known) -> tf.Tensor:
        if wire not in known:
            node = self._nodes[node_of(wire)]
            known.update(_applied(node, [self._value(each, known) for each in _wires(node)]))
        return known[wire]

    def _varies(self, wire: str) -> bool:
        """It depends on the element."""
        if wire in self._stacked:
            return True
        name = node_of(wire)
        if name not in self._varying:
            node = self._nodes.get(name)
            found = node is not None and any(map(self._varies, _wires(node)))
            self._varying[name] = found
        return self._varying[name]

    def _collect(self, wire: str, order: list[NodeDef]) -> None:
        """Operations that a value needs, each after those that it needs."""
        node = self._nodes.get(node_of(wire))
        if node is None or node in order:
            return
        for each in _wires(node):
            self._collect(each, order)
        order.append(node)


def _applied(node: NodeDef, inputs: Sequence[tf.Tensor]) -> Mapping[str, tf.Tensor]:
    """What an operation gives for these inputs."""
    definition = GraphDef()
    new = definition.node.add()
    new.CopyFrom(node)
    del new.input[:]
    new.input.extend(f"input_{place}:0" for place in range(len(inputs)))
    new.attr.pop("_output_shapes", None)
    given = dict(zip(new.input, inputs, strict=True))
    [operation] = tf.graph_util.import_graph_def(
        definition, input_map=given, return_elements=[node.name], name=""
    )
    found, place = {}, 0
    for output in operation.op_def.output_arg:
        many = 1
        if output.number_attr:
            many = node.attr[output.number_attr].i
        elif output.type_list_attr:
            many = len(node.attr[output.type_list_attr].list.type)
        for each in range(many):
            found[f"{node.name}:{output.name}:{each}"] = operation.outputs[place + each]
        place += many
    return found


def _wires(node: NodeDef) -> list[str]:
    return [wire for wire in node.input if not wire.startswith("^")]
