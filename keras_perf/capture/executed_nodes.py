"""How many nodes of a graph a step runs: a trace holds an event for each that takes time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

UNKNOWN_ROUNDS = 100
"""Of a loop whose length depends on the data."""

LOOPS = ("While", "StatelessWhile")
BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
_COPIES = ("Identity", "Cast", "Max")
"""Keras takes an RNN's length as the maximum of one number."""


def executed_nodes(graph: Any) -> int:
    """Nodes that one step runs, those of called functions and of each round of a loop too.

    Of two branches the longer one counts. A loop in the graph itself is the one over the steps of
    an execution, of which one counts.

    Arguments:
        graph: a `GraphDef` of a train function.
    """
    functions = {f.signature.name: f for f in graph.library.function}
    known: dict[str, int] = {}

    def of_function(name: str) -> int:
        if name not in known:
            function = functions.get(name)
            known[name] = 0 if function is None else of_nodes(function.node_def)
        return known[name]

    def of_nodes(nodes: Iterable[Any], *, outermost: bool = False) -> int:
        by_name = {node.name: node for node in nodes}
        count = len(by_name)
        for node in by_name.values():
            names = [name for each in node.attr.values() for name in _functions_of(each)]
            called = [of_function(name) for name in names]
            if node.op in LOOPS:
                count += sum(called) * (1 if outermost else _rounds(node, by_name))
            elif node.op in BRANCHES:
                count += max(called, default=0)
            else:
                count += sum(called)
        return count

    return of_nodes(graph.node, outermost=True)


def _functions_of(attribute: Any) -> list[str]:
    if attribute.HasField("func"):
        return [attribute.func.name]
    return [function.name for function in attribute.list.func]


def _rounds(loop: Any, nodes: Mapping[str, Any]) -> int:
    """The loop's second input is the most rounds that it may take, where that is a constant."""
    node = nodes.get(_producer(loop.input[1]))
    while node is not None and node.op in _COPIES:
        node = nodes.get(_producer(node.input[0]))
    if node is None or node.op != "Const":
        return UNKNOWN_ROUNDS
    rounds = tf.make_ndarray(node.attr["value"].tensor)
    return int(rounds) if rounds.size == 1 and rounds > 0 else UNKNOWN_ROUNDS


def _producer(name: str) -> str:
    return name.split(":")[0].lstrip("^")
