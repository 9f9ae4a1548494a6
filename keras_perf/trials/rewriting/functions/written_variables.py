"""Whether functions write a variable that they are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorflow.core.framework.function_pb2 import FunctionDef
from tensorflow.core.framework.node_def_pb2 import NodeDef

WRITES = ("Assign", "RngReadAndSkip", "RngSkip", "ResourceScatter", "TableInsert", "TableImport")
"""What the names of operations have in them that change what is copied with the graph, as Keras's
random layers do."""

SAME = ("Identity", "IdentityN")


def writes_it(operation: str) -> bool:
    """Operations of this type change what they are given."""
    return any(word in operation for word in WRITES)


def written_by(
    node: NodeDef, handles: set[str], functions: Mapping[str, FunctionDef], *, depth: int = 20
) -> bool:
    """The node, or a function that it calls, writes the variable.

    What it cannot see: variables of the functions of `group_by_window`, which count as not written.

    Arguments:
        node: an operation, or a stage with functions.
        handles: names under which the variable is known where the node stands.
        functions: all, by their names.
        depth: of functions in functions.
    """
    wires = [wire for wire in node.input if not wire.startswith("^")]
    if node.op not in functions and writes_it(node.op):
        return node_of(wires[0]) in handles
    for function in _called_by(node, functions) if depth else ():
        given = [node_of(wire) for wire in _given(node, wires)]
        arguments = [argument.name for argument in function.signature.input_arg]
        # Elements and conditions come first; what is captured comes last, in the same order.
        pairs = zip(reversed(arguments), reversed(given), strict=False)
        inside = {argument for argument, wire in pairs if wire in handles}
        if inside and _written_in(function, inside, functions, depth - 1):
            return True
    return False


def _written_in(
    function: FunctionDef, handles: set[str], functions: Mapping[str, FunctionDef], depth: int
) -> bool:
    known = set(handles)
    for node in function.node_def:
        if node.op in SAME and {wire.partition(":")[0] for wire in node.input} & known:
            known.add(node.name)
    return any(written_by(each, known, functions, depth=depth) for each in function.node_def)


def _given(node: NodeDef, wires: list[str]) -> list[str]:
    """What a node's functions capture; of one that is no stage, all that they are given."""
    if "Targuments" not in node.attr:
        return wires
    # The stage before it, and the state of a scan.
    first = 1 + len(node.attr["Tstate"].list.type) if "Tstate" in node.attr else 1
    return wires[first : first + len(node.attr["Targuments"].list.type)]


def _called_by(node: NodeDef, functions: Mapping[str, FunctionDef]) -> Iterator[FunctionDef]:
    for name in (*functions_of(node), node.op):
        if name in functions:
            yield functions[name]


def node_of(wire: str) -> str:
    """The node that an input comes from."""
    return wire.removeprefix("^").partition(":")[0]


def functions_of(node: NodeDef) -> Iterator[str]:
    """Names of the functions that a node has as attributes."""
    for attribute in node.attr.values():
        if attribute.HasField("func"):
            yield attribute.func.name
        for each in attribute.list.func:
            yield each.name
