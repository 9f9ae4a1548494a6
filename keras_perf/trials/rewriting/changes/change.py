"""One rewriting of a pipeline, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from keras_perf.records.reasons.reason import Reason
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


@dataclass(frozen=True)
class Change:
    """One rewriting.

    Attributes:
        id: as the recommendation of the same kind is called.
        where: the stage that it is about.
        code: how one would write it.
        costs: what it takes beside time.
        apply: changes the graph, in place.
        options: of the dataset, in place of a change of the graph or beside it.
        stages: nodes, the last of which in a graph gives elements that must stay the same; none
            where none could differ.
        stage_after: the node that gives them in the changed graph, if it is another one.
        keeps: a whole pass is kept.
        costs_kept: what that costs, told with where it is kept, which is a sentence of `Costs`.
        folder: where it is kept instead; None for memory.
        in_memory: the same with memory in place of the folder.
        in_place_of: where it would gain more; it is tried only if there is no room there.
        beside_a_step: it pays only where something else happens between two batches.
        promise: how much is to be expected of it in a training, beside others.
    """

    id: str
    where: str
    code: str
    costs: str
    apply: Callable[[PipelineGraph], None] | None = None
    options: Callable[[tf.data.Options], None] | None = None
    stages: tuple[str, ...] = ()
    stage_after: str = ""
    keeps: bool = False
    costs_kept: Callable[[Reason], Reason] | None = None
    folder: Path | None = None
    in_memory: Change | None = None
    in_place_of: str = ""
    beside_a_step: bool = False
    promise: int = 0

    def made(self, graph: PipelineGraph) -> PipelineGraph:
        """The graph with this change.

        Raises:
            NoLongerPossibleError: another change took away what it is about.
        """
        changed = graph.copy()
        if self.apply is not None:
            self.apply(changed)
        return changed

    def is_set_by(self, options: Sequence[Callable[[tf.data.Options], None]]) -> bool:
        """It only sets options, and another change has set them beside the graph."""
        return self.apply is None and self.options in options

    def compared(
        self, graph: PipelineGraph, made: PipelineGraph
    ) -> tuple[tf.data.Dataset, tf.data.Dataset]:
        """The stage's elements without it and with it.

        Those of the whole pipeline where a stage's cannot be looked at, as ragged and sparse ones.
        Shuffles have the same seeds in both, so that an order of their own hides no difference.
        """
        after = (self.stage_after,) if self.stage_after else self.stages
        first, second = graph.until(*self.stages), made.until(*after)
        if any(spec.dtype == tf.variant for spec in first.element_spec):
            first, second = graph, made
        return first.with_fixed_seeds().dataset(), second.with_fixed_seeds().dataset()


@dataclass(frozen=True)
class NotDone:
    """A rewriting that was not tried, and why."""

    id: str
    where: str
    why: str


class NoLongerPossibleError(ValueError):
    """Another change took away what this one is about, or did the same already."""


Found = Iterator[Change | NotDone]
"""What a module of a kind of changes finds in a pipeline."""
