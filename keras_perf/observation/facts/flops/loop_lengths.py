"""How many rounds a loop of a flat graph runs, where that is the same in every run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keras_perf.observation.facts.flops.flat_graph import FlatGraph, LoopBody
from keras_perf.observation.facts.flops.shapes import Inferred

_HANDED_ON = ("Identity", "Cast")
_LESS = ("Less", "LessEqual")
_GREATER = ("Greater", "GreaterEqual")


@dataclass
class LoopLengths:
    """Of the loops of one graph.

    Arguments:
        flat: the graph.
        inferred: what is known of its tensors.
    """

    flat: FlatGraph
    inferred: Inferred

    def rounds(self, loop: LoopBody) -> int | None:
        """How often the body runs; None where only the run itself decides that.

        Known are conditions that compare a counter with a number, or several of them at once.
        """
        limits = [self._rounds_while(loop, each) for each in self._alternatives(loop.condition)]
        known = [each for each in limits if each is not None]
        return min(known) if known and len(known) == len(limits) else None

    def _alternatives(self, condition: str) -> list[str]:
        """The comparisons all of which must hold."""
        node = self.flat.node_of(self._source(condition))
        if node.op != "LogicalAnd":
            return [f"{node.name}:0"]
        return [each for side in node.input for each in self._alternatives(side)]

    def _rounds_while(self, loop: LoopBody, comparison: str) -> int | None:
        node = self.flat.node_of(comparison)
        if node.op in _LESS:
            counter, bound = node.input
        elif node.op in _GREATER:
            bound, counter = node.input
        else:
            return None
        counter = self._source(counter)
        if counter not in loop.carried:
            return None
        number = loop.carried.index(counter)
        first, step = self._number(loop.enters[number]), self._step(loop, number)
        last = self._number(bound)
        if first is None or not step or last is None:
            return None
        reached = 1 if node.op.endswith("Equal") else 0
        return max(0, math.ceil((last + reached - first) / step))

    def _step(self, loop: LoopBody, number: int) -> int | None:
        """By how much the loop raises a counter in each round."""
        node = self.flat.node_of(self._source(loop.leaves[number]))
        if node.op not in ("Add", "AddV2"):
            return None
        sides = [self._source(each) for each in node.input]
        if loop.carried[number] not in sides:
            return None
        sides.remove(loop.carried[number])
        return self._number(sides[0])

    def _number(self, tensor: str) -> int | None:
        """A whole number that is the same in every run: of shapes, or what a counter comes to."""
        tensor = self._source(tensor)
        if tensor not in self.flat.after_loops:
            return self.inferred.whole_number(tensor)
        loop, number = self.flat.after_loops[tensor]
        values = self._number(loop.enters[number]), self._step(loop, number), self.rounds(loop)
        first, step, rounds = values
        if first is None or step is None or rounds is None:
            return None
        return first + step * rounds

    def _source(self, tensor: str) -> str:
        while (node := self.flat.node_of(tensor)).op in _HANDED_ON:
            tensor = node.input[0]
        return tensor
