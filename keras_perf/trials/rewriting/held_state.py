"""State that a dataset's functions hold, and that a graph has copies of."""

from __future__ import annotations

import math
from collections.abc import Iterator

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.functions.written_variables import node_of, written_by
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.seed_generators import SEEDED

SEEDS = ((2,), (3,))
"""Shapes of a random generator's state: Keras's, and `tf.random.Generator`'s."""

TAKEN_FROM = ("Iterator", "Queue", "Unstage", "MapUnstage", "Barrier", "Stack")
"""Beginnings of operations that take what is then gone."""

MADE = "AnonymousIterator"
"""Of those that make an iterator in each call."""

LEAVING = ("TakeDataset", "TakeWhileDataset")
"""Of stages that may end before what they take from: after a number, or by what they see."""


def reason_against_copies(graph: PipelineGraph) -> str:
    """Why a dataset made of this graph would not go on as the one it was written of; "" if it does.

    TensorFlow writes a variable with the value that it has then. A generator's draws are the same
    from a copy of its state; what anybody else reads or writes is not.
    """
    if any(_takes(graph, stage) for stage in graph.stages):
        return "take from an iterator or a queue in a map, which trials would take from as well"
    if _left_in_the_middle(graph):
        return (
            "leave a repeated shuffle, or a generator's draws, before their end: what the next "
            "pass begins with would depend on how far this one reads ahead (take before you "
            "repeat, and zip with nothing shorter)"
        )
    if _parts_by_chance(graph):
        return (
            "take a part of a shuffle that keeps one order for all passes and has no seed: the "
            "part of another dataset would be another one (give the shuffle a seed)"
        )
    states: list[bytes] = []
    for node in graph.definition.node:
        if node.op.startswith("MutableHashTable") or node.op.startswith("MutableDenseHashTable"):
            return "use a table that can change, of which a changed dataset would hold a copy"
        if node.op == "VarHandleOp":
            if not _is_a_generators_state(graph, node):
                return "use a variable in a map, of which a changed dataset would hold a copy"
            states += _written(graph, node)
    if files := writes_files(graph):
        return files
    if len(states) != len(set(states)):
        return (
            "draw from one random generator in two maps, whose copies would draw alike (give each "
            "a generator or a layer of its own, with a seed of its own)"
        )
    return ""


def writes_files(graph: PipelineGraph) -> str:
    """Which files of the user's a pass through a copy would write; "" where none."""
    for node in graph.definition.node:
        if node.op.startswith("CacheDataset") and (file := graph.value(node.input[1])):
            return f"keep a cache in a file ({file.item().decode()!r}), which trials would write"
        if node.op.startswith(("Snapshot", "SaveDataset")):
            return "keep a snapshot in files, which trials would write"
    return ""


def _parts_by_chance(graph: PipelineGraph) -> bool:
    """Without a seed the order is known to the dataset itself, and not to what is written of it."""
    unseeded = set[str]()
    for stage in graph.stages:
        behind = bool(unseeded.intersection(map(node_of, stage.input)))
        if behind and stage.op.startswith((*LEAVING, "SkipDataset", "ShardDataset")):
            return True
        first = SEEDED.get(stage.op)
        if first is not None and stage.op.startswith("Shuffle"):
            seeds = [graph.value(wire) for wire in stage.input[first : first + 2]]
            anew = stage.attr["reshuffle_each_iteration"].b
            behind |= not anew and all(seed is not None and seed == 0 for seed in seeds)
        if behind:
            unseeded.add(stage.name)
    return False


def _takes(graph: PipelineGraph, stage: NodeDef) -> bool:
    """Its functions take from what others take from; an iterator that a call makes is its own."""
    changing = graph.changing(stage)
    for function in graph.called(stage).values():
        own = {node.name for node in function.node_def if node.op.startswith(MADE)}
        taking = (n for n in function.node_def if n.op in changing and n.op.startswith(TAKEN_FROM))
        if not all(own.intersection(map(node_of, node.input)) for node in taking):
            return True
    return False


def _left_in_the_middle(graph: PipelineGraph) -> bool:
    """What goes on from pass to pass stands before a stage that need not take all of it."""
    reshuffled, endless, goes_on = set[str](), set[str](), set[str]()
    for stage in graph.stages:
        sources = {node_of(wire) for wire in stage.input}
        for behind in (reshuffled, endless, goes_on):
            if sources & behind:
                behind.add(stage.name)
        both = stage.op.startswith("ShuffleAndRepeat")
        if both or (stage.op.startswith("Shuffle") and stage.attr["reshuffle_each_iteration"].b):
            reshuffled.add(stage.name)
        if stage.name in reshuffled and (both or stage.op.startswith("Repeat")):
            count = graph.value(stage.input[-1])
            goes_on.add(stage.name)
            if both or count is None or count < 0:
                endless.add(stage.name)
        if graph.writes(stage) or _iterates_again(graph, stage, reshuffled):
            goes_on.add(stage.name)
        if stage.name in goes_on and stage.op.startswith(LEAVING):
            return True
        if stage.name in endless and stage.op.startswith(("Zip", "DirectedInterleave")):
            return True
        if sources & goes_on and _ends_with_one_side(stage):
            return True
        if stage.op.startswith("Zip") and _outlasts_another(graph, sources, goes_on):
            return True
    return False


def _ends_with_one_side(stage: NodeDef) -> bool:
    """It draws from several datasets until one of them has ended."""
    drawn = stage.op.startswith("DirectedInterleave")
    return bool(drawn and stage.attr["stop_on_empty_dataset"].b)


def _iterates_again(graph: PipelineGraph, stage: NodeDef, reshuffled: set[str]) -> bool:
    """Its functions begin a pass of a shuffle that they hold, in each call."""
    held = {node_of(wire) for wire in stage.input[1:]}
    return bool(held & reshuffled) and any(op.startswith(MADE) for op in graph.operations(stage))


def _outlasts_another(graph: PipelineGraph, sides: set[str], goes_on: set[str]) -> bool:
    """One of these datasets goes on from pass to pass, and another one is known to be shorter."""
    if not sides & goes_on:
        return False
    lengths = {side: _length(graph, side) for side in sides}
    shortest = min((each for each in lengths.values() if each is not None), default=math.inf)
    return any((lengths[side] or 0) > shortest for side in sides & goes_on)


def _length(graph: PipelineGraph, stage: str) -> float | None:
    """Elements of a stage; None where TensorFlow does not know."""
    count = int(graph.until(stage).dataset().cardinality())
    if count == tf.data.INFINITE_CARDINALITY:
        return math.inf
    return None if count == tf.data.UNKNOWN_CARDINALITY else count


def _is_a_generators_state(graph: PipelineGraph, handle: NodeDef) -> bool:
    """It looks like one, and every stage that has it writes it, as those that draw do."""
    shape = tuple(axis.size for axis in handle.attr["shape"].shape.dim)
    if shape not in SEEDS or not tf.as_dtype(handle.attr["dtype"].type).is_integer:
        return False
    names = {handle.name}
    for node in graph.definition.node:
        if node.op == "Identity" and node_of(node.input[0]) in names:
            names.add(node.name)
    having = [stage for stage in graph.stages if names & set(map(node_of, stage.input))]
    return all(written_by(stage, names, graph.called(stage)) for stage in having)


def _written(graph: PipelineGraph, handle: NodeDef) -> Iterator[bytes]:
    """What the copy of a variable begins with."""
    for node in graph.definition.node:
        if node.op == "AssignVariableOp" and node.input[0] == handle.name:
            yield graph.value(node.input[1]).tobytes()
