"""Counts the multiplications of a training step."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.flops.counted import Counted, NotCountedError, one_of
from keras_perf.observation.facts.flops.element_shapes import follow_lists
from keras_perf.observation.facts.flops.flat_graph import FlatGraph, LoopBody, Scope
from keras_perf.observation.facts.flops.flattening import Flattening
from keras_perf.observation.facts.flops.loop_lengths import LoopLengths
from keras_perf.observation.facts.flops.operations import (
    COUNTED,
    UnknownShapeError,
    elements,
    flops_of,
    may_multiply,
)
from keras_perf.observation.facts.flops.shapes import Inferred, definitions_of
from keras_perf.records.run.step_work import NotCounted

_FETCHES = ("IteratorGetNext", "IteratorGetNextSync", "MultiDeviceIteratorGetNextFromShard")
_FETCHES_MAYBE = "IteratorGetNextAsOptional"
_UNPACKS = "OptionalGetValue"


class StepGraph:
    """A traced function, which is neither run nor traced again.

    TensorFlow infers the shapes of its graph once more, for batches of a given size.

    Arguments:
        function: a ConcreteFunction.
        takes_batch: what it is called with is a batch, which it does not fetch itself.
    """

    def __init__(self, function: Any, *, takes_batch: bool = False) -> None:
        self._flat = _flat(function)
        self._batches = _batches(self._flat)
        given = _arguments(function, self._flat) if takes_batch else []
        axes = [_free_axes(self._flat.nodes[name]) for name in [*self._batches, *given]]
        self._sizes = [axis for each in axes for axis in each]
        follow_lists(self._flat)

    def count(self, examples: int | None) -> Counted:
        """What it multiplies for one batch that it fetches, or in a call if it fetches none.

        Arguments:
            examples: of a batch, where its size is not fixed.

        Raises:
            NotCountedError: something decides on the number that is not known before the run.
        """
        flat = self._flat
        for axis in self._sizes:
            axis.size = -1 if examples is None else examples
        asked = [name for name, node in flat.nodes.items() if node.op in COUNTED]
        ends = [each.rpartition(":")[0] for loop in flat.loops for each in _asked_of(loop)]
        try:
            inferred = Inferred(flat, flat.ancestors([*asked, *ends]))
        except (ValueError, tf.errors.OpError) as error:
            raise NotCountedError(NotCounted.SHAPE) from error
        own: dict[Scope, Counted] = defaultdict(Counted)
        for name, node in flat.nodes.items():
            if node.op in COUNTED:
                _count(node, inferred, own[flat.scopes[name]])
            elif may_multiply(node.op):
                own[flat.scopes[name]].passed_over.add(node.op)
        whole = Counted(batches=len(self._batches))
        total = _Totals(flat, inferred, own, self._batches).of(None)
        whole.add(total, 1 / max(1, len(self._batches)))
        return whole


def _asked_of(loop: LoopBody) -> Iterable[str]:
    return [loop.condition, *loop.enters, *loop.carried, *loop.leaves]


def _flat(function: Any) -> FlatGraph:
    graph = function.graph.as_graph_def(add_shapes=True)
    library = {each.signature.name: each for each in graph.library.function}
    definitions = definitions_of(library.values(), graph.node)
    flattening = Flattening(library, definitions, tf.compat.v1.NodeDef)
    ends = [output.op.name for output in function.outputs]
    ends += [operation.name for operation in getattr(function.graph, "control_outputs", ())]
    flattening.run(graph.node, ends)
    return flattening.graph


def _batches(flat: FlatGraph) -> list[str]:
    """The nodes that bring a batch each."""
    maybe = [node for node in flat.nodes.values() if node.op == _FETCHES_MAYBE]
    kinds = [list(node.attr["output_types"].list.type) for node in maybe]
    return [
        name
        for name, node in flat.nodes.items()
        if node.op in _FETCHES
        or (node.op == _UNPACKS and list(node.attr["output_types"].list.type) in kinds)
    ]


def _arguments(function: Any, flat: FlatGraph) -> list[str]:
    """The nodes of what it is called with, without what it has captured."""
    count = len(function.inputs) - len(function.captured_inputs)
    names = {each.op.name for each in function.inputs[:count]}
    placed = ((name, name.partition("/")[2]) for name in flat.nodes)  # behind its scope
    return [name for name, own in placed if own in names and flat.nodes[name].op == "Placeholder"]


def _free_axes(node: Any) -> list[Any]:
    """The first axes of a batch's tensors whose length is not fixed, to be set."""
    node.attr.pop("_output_shapes", None)
    one = node.op == "Placeholder"
    shapes = [node.attr["shape"].shape] if one else node.attr["output_shapes"].list.shape
    return [shape.dim[0] for shape in shapes if shape.dim and shape.dim[0].size < 0]


def _count(node: Any, inferred: Inferred, into: Counted) -> None:
    tensors = [*node.input, f"{node.name}:0"]
    shapes = [inferred.shape(each) for each in tensors]
    given = {name: _plain(value) for name, value in node.attr.items()}
    try:
        flops = flops_of(node.op, shapes[:-1], shapes[-1:], given)
        bytes_ = sum(
            elements(shape) * inferred.bytes_per_element(each)
            for each, shape in zip(tensors, shapes, strict=True)
        )
    except UnknownShapeError as error:
        raise NotCountedError(NotCounted.SHAPE) from error
    into.flops[inferred.dtype(f"{node.name}:0")] += flops
    into.bytes += bytes_


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return getattr(value, kind) if kind in ("b", "i", "s", "f") else None


@dataclass
class _Totals:
    """Adds up what stands in the function, in loops and in branches.

    A loop over batches counts once: what it does for each of them is asked for.
    """

    flat: FlatGraph
    inferred: Inferred
    own: Mapping[Scope, Counted]
    batches: list[str]

    def __post_init__(self) -> None:
        self._lengths = LoopLengths(self.flat, self.inferred)
        self._below: dict[Scope | None, list[Scope]] = defaultdict(list)
        pending = list({*self.own, *self.flat.scopes.values()})
        seen = set[Scope]()
        while pending:
            scope = pending.pop()
            if scope not in seen:
                seen.add(scope)
                self._below[scope.parent].append(scope)
                pending += [scope.parent] if scope.parent is not None else []
        self._with_batches = set[Scope]()
        for name in self.batches:
            above: Scope | None = self.flat.scopes[name]
            while above is not None:
                self._with_batches.add(above)
                above = above.parent

    def of(self, scope: Scope | None) -> Counted:
        """All of a scope, with what stands in it."""
        total = Counted()
        if scope is not None and scope in self.own:
            total.add(self.own[scope])
        choices: dict[str, list[Scope]] = defaultdict(list)
        for inner in self._below[scope]:
            if inner.choice is not None:
                choices[inner.choice].append(inner)
            elif isinstance(inner, LoopBody):
                total.add(*self._of_loop(inner))
            else:
                total.add(self.of(inner))
        for branches in choices.values():
            total.add(self._of_branches(branches))
        return total

    def _of_loop(self, loop: LoopBody) -> tuple[Counted, float]:
        once = self.of(loop)
        if not any(once.flops.values()) or loop in self._with_batches:
            return once, 1.0
        for before, after in zip(loop.carried, loop.leaves, strict=True):
            shapes = self.inferred.shape(before), self.inferred.shape(after)
            if shapes[0] != shapes[1]:
                raise NotCountedError(NotCounted.SHAPE)
        rounds = self._lengths.rounds(loop)
        if rounds is None:
            raise NotCountedError(NotCounted.LOOP)
        return once, float(rounds)

    def _of_branches(self, branches: list[Scope]) -> Counted:
        """Of one of them, if all count the same; else of the one that uses a batch."""
        counted = [self.of(each) for each in branches]
        using = [each in self._with_batches for each in branches]
        if any(using) and not all(using):
            return counted[using.index(True)]
        return one_of(counted)
