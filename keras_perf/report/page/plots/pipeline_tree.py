"""The stages of the input pipeline as they feed each other, beside what the user wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from keras_perf.advise.as_written import WORK, runs_as
from keras_perf.analyse.stage_paces import StagePace, shown_paces
from keras_perf.records.run.input.pipeline import WrittenStage
from keras_perf.records.run.run_facts import RunFacts


@dataclass
class Node:
    """A stage and what feeds it.

    `inner` is the pipeline that an interleave runs for each of its elements, `written` what of the
    user's program it runs, where that is certain.
    """

    pace: StagePace
    inputs: list[Node] = field(default_factory=list)
    inner: Node | None = None
    written: WrittenStage | None = None

    @property
    def feeding(self) -> list[Node]:
        """All that feed it."""
        return [*self.inputs, *([self.inner] if self.inner is not None else [])]


def pipeline_tree(facts: RunFacts) -> Node | None:
    """The last stage, with all that feed it; None where the stages are not known.

    What it cannot see: which function runs where tf.data has fused stages, or added some.
    """
    open_ends: list[Node] = []
    for pace in shown_paces(facts):
        count = min(1 if pace.stage.inputs is None else pace.stage.inputs, len(open_ends))
        # The list runs backwards from the last stage: the first input is the one before it.
        feeding = [open_ends.pop() for _ in range(count)]
        inner = feeding.pop(0) if _runs_pipelines(pace) and len(feeding) > 1 else None
        open_ends.append(Node(pace, feeding, inner))
    if not open_ends:
        return None
    last = open_ends[-1]
    _find_written(last, facts)
    return last


def _runs_pipelines(pace: StagePace) -> bool:
    return "Interleave" in pace.stage.name or "FlatMap" in pace.stage.name


def _find_written(last: Node, facts: RunFacts) -> None:
    """Chain by chain, where there are as many of them, and in each of a kind, as were written."""
    chains = list(_chains(last))
    if len(chains) != len(facts.input.chains):
        return
    for nodes, chain in zip(chains, facts.input.chains, strict=True):
        for kind in (*WORK, "shuffle"):
            written = [stage for stage in chain if stage.kind == kind]
            found = [node for node in reversed(nodes) if _runs_as(kind, node.pace.stage.name)]
            for node, stage in zip(found, written, strict=False):
                if len(found) == len(written):
                    node.written = stage


def _runs_as(kind: str, name: str) -> bool:
    return runs_as(kind, name) if kind in WORK else name.startswith("Shuffle")


def _chains(last: Node) -> Iterator[list[Node]]:
    """As they are recorded: from the end on, those that meet there after it, in their order."""
    pending = [last]
    while pending:
        node = pending.pop(0)
        chain = [node]
        while len(node.inputs) == 1:
            [node] = node.inputs
            chain.append(node)
        pending.extend(node.inputs)
        yield chain
