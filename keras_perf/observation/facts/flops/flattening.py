"""Makes a flat graph of a traced function: calls are replaced by what they call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import count
from typing import Any

from keras_perf.capture.executed_nodes import BRANCHES, LOOPS
from keras_perf.observation.facts.flops.flat_graph import OPAQUE, FlatGraph, LoopBody, Scope

CALLS = ("PartitionedCall", "StatefulPartitionedCall")


class Flattening:
    """Makes a `FlatGraph`.

    Arguments:
        library: functions by name (`FunctionDef`).
        definitions: operations by name (`OpDef`).
        node: makes an empty `NodeDef`.
    """

    def __init__(
        self, library: Mapping[str, Any], definitions: Mapping[str, Any], node: type[Any]
    ) -> None:
        self.graph = FlatGraph()
        self._library, self._definitions, self._node = library, definitions, node
        self._numbers = count()

    def run(self, nodes: Iterable[Any], roots: Iterable[str]) -> None:
        """Flattens what is needed of a graph.

        Arguments:
            nodes: of the outermost graph, as a GraphDef has them.
            roots: names of those that are run.
        """
        self._inline({node.name: node for node in nodes}, {}, list(roots), Scope())

    def _inline(
        self, nodes: Mapping[str, Any], tensors: dict[str, str], roots: Sequence[str], scope: Scope
    ) -> None:
        """Adds what `roots` need; `tensors` is given the new names of the old ones."""
        prefix = f"{next(self._numbers)}/"
        needed, used = _needed(nodes, roots)
        for name in _in_order(needed, nodes):
            node = nodes[name]
            inputs = [tensors[each] for each in node.input if not each.startswith("^")]
            names = self._names(node)
            wanted = {number for number, each in enumerate(names) if not used.isdisjoint(each)}
            outputs = self._added(node, f"{prefix}{name}", inputs, scope, wanted)
            for each, tensor in zip(names, outputs, strict=True):
                tensors.update(dict.fromkeys(each, tensor))

    def _added(
        self, node: Any, name: str, inputs: list[str], scope: Scope, wanted: set[int]
    ) -> list[str]:
        """The tensors that the node makes, in what is added for it."""
        if node.op in CALLS:
            return self._called(node.attr["f"].func.name, inputs, scope, wanted)
        if node.op in self._library:
            return self._called(node.op, inputs, scope, wanted)
        if node.op in LOOPS:
            return self._looped(node, inputs, scope)
        if node.op in BRANCHES:
            return self._branched(node, name, inputs, scope)
        return self._copied(node, name, inputs, scope)

    def _copied(self, node: Any, name: str, inputs: list[str], scope: Scope) -> list[str]:
        copy = self._node()
        copy.CopyFrom(node)
        copy.name, copy.device = name, ""
        del copy.input[:]
        copy.input.extend(inputs)
        copy.attr.pop("_class", None)
        self.graph.nodes[name], self.graph.scopes[name] = copy, scope
        return [f"{name}:{number}" for number in range(len(self._names(node)))]

    def _new(self, op: str, inputs: list[str], kind: Any, scope: Scope) -> str:
        name = f"{next(self._numbers)}/{op}"
        node = self._node(name=name, op=op, input=inputs)
        node.attr["T"].type = kind
        if op == "Merge":
            node.attr["N"].i = len(inputs)
        self.graph.nodes[name], self.graph.scopes[name] = node, scope
        return f"{name}:0"

    def _called(
        self, called: str, inputs: list[str], scope: Scope, wanted: set[int] | None = None
    ) -> list[str]:
        """The tensors that a function returns; '' for what is not `wanted`, and not there."""
        function = self._library[called]
        given = [argument.name for argument in function.signature.input_arg]
        tensors = dict(zip(given, inputs, strict=True))
        returned = [function.ret[each.name] for each in function.signature.output_arg]
        ends = [
            place for number, place in enumerate(returned) if wanted is None or number in wanted
        ]
        nodes = {node.name: node for node in function.node_def}
        self._inline(nodes, tensors, [*ends, *function.control_ret.values()], scope)
        return [tensors.get(place, "") for place in returned]

    def _looped(self, node: Any, inputs: list[str], scope: Scope) -> list[str]:
        """Its body once; what the body changes comes in, and goes out, with a value unknown."""
        body = self._library[node.attr["body"].func.name]
        arguments = list(body.signature.input_arg)
        kept = [
            _source(body, body.ret[out.name]) == argument.name
            for out, argument in zip(body.signature.output_arg, arguments, strict=True)
        ]
        loop = LoopBody(scope, enters=inputs)
        loop.carried = [
            tensor if keeps else self._new(OPAQUE, [tensor], argument.type, loop)
            for tensor, keeps, argument in zip(inputs, kept, arguments, strict=True)
        ]
        loop.leaves = self._called(node.attr["body"].func.name, loop.carried, loop)
        [loop.condition] = self._called(node.attr["cond"].func.name, loop.carried, loop)
        self.graph.loops.append(loop)
        outputs = []
        for number, argument in enumerate(arguments):
            if kept[number]:
                outputs.append(inputs[number])
                continue
            after = self._new(OPAQUE, [loop.leaves[number]], argument.type, scope)
            self.graph.after_loops[after] = loop, number
            outputs.append(after)
        return outputs

    def _branched(self, node: Any, name: str, inputs: list[str], scope: Scope) -> list[str]:
        """All branches; an output has the shape that all of them give it."""
        branches = [node.attr[key].func.name for key in ("then_branch", "else_branch")]
        if node.op.endswith("Case"):
            branches = [each.name for each in node.attr["branches"].list.func]
        results = [self._called(each, inputs[1:], Scope(scope, choice=name)) for each in branches]
        return [
            self._new("Merge", list(tensors), kind, scope)
            for tensors, kind in zip(
                zip(*results, strict=True), node.attr["Tout"].list.type, strict=True
            )
        ]

    def _names(self, node: Any) -> list[tuple[str, ...]]:
        """What others call each output: `node:number`, and in functions `node:output:number`."""
        called = self._library.get(node.op)
        definition = called.signature if called else self._definitions[node.op]
        names: list[tuple[str, ...]] = []
        for output in definition.output_arg:
            several = 1
            if output.number_attr:
                several = node.attr[output.number_attr].i
            elif output.type_list_attr:
                several = len(node.attr[output.type_list_attr].list.type)
            for number in range(several):
                first = () if names else (node.name,)
                there = f"{node.name}:{output.name}:{number}"
                names.append((*first, f"{node.name}:{len(names)}", there))
        return names


def _needed(nodes: Mapping[str, Any], roots: Iterable[str]) -> tuple[set[str], set[str]]:
    """Names of nodes that run for the roots, and the tensors that any of them or a root reads."""
    pending, needed = [*roots], set[str]()
    used = set(roots)
    while pending:
        name = pending.pop().removeprefix("^").partition(":")[0]
        if name in nodes and name not in needed:
            needed.add(name)
            pending.extend(nodes[name].input)
            used.update(nodes[name].input)
    return needed, used


def _in_order(names: set[str], nodes: Mapping[str, Any]) -> Iterable[str]:
    """Each after those whose tensors it reads."""
    read = {
        name: {source for each in nodes[name].input if (source := each.partition(":")[0]) in names}
        for name in sorted(names)
    }
    return TopologicalSorter(read).static_order()


def _source(function: Any, place: str) -> str:
    """Where a tensor comes from that is handed on unchanged."""
    nodes = {node.name: node for node in function.node_def}
    while (node := nodes.get(place.partition(":")[0])) is not None and node.op == "Identity":
        place = node.input[0]
    return place
