"""What can be changed in a pipeline so that it still gives the same elements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

AUTOTUNE = tf.data.AUTOTUNE
WIDER_POOL = 16
"""Threads of a pool of its own: calls that wait need no core each."""

SEES_ORDER = ("Shuffle", "Repeat", "Random", "Cache", "Sample", "Choose", "Directed")
"""Stages behind which elements differ from pass to pass, or need not be kept."""

_GIVEN_NAME = re.compile(r"__inference_Dataset_[a-z_]+?_(?P<name>.+)_\d+$")


@dataclass(frozen=True)
class Change:
    """One rewriting.

    Attributes:
        id: as the recommendation of the same kind is called.
        where: the stage that it is about.
        code: how one would write it.
        costs: what it takes beside time.
        apply: changes the graph, in place.
        options: of the dataset, in place of a change of the graph.
        stage: the node of the graph whose elements must stay the same; "" where none could differ.
        keeps: a whole pass is kept in memory.
        beside_a_step: it pays only where something else happens between two batches.
    """

    id: str
    where: str
    code: str
    costs: str
    apply: Callable[[PipelineGraph], None] | None = None
    options: Callable[[tf.data.Options], None] | None = None
    stage: str = ""
    keeps: bool = False
    beside_a_step: bool = False

    def made(self, graph: PipelineGraph) -> PipelineGraph:
        """The graph with this change."""
        changed = graph.copy()
        if self.apply is not None:
            self.apply(changed)
        return changed


@dataclass(frozen=True)
class NotDone:
    """A rewriting that was not tried, and why."""

    id: str
    where: str
    why: str


def possible_changes(
    graph: PipelineGraph, *, any_order: bool
) -> tuple[list[Change], list[NotDone]]:
    """In the order in which they are tried, and what is not.

    Arguments:
        graph: of the dataset as it is.
        any_order: the order of elements may change.
    """
    found: list[Change] = []
    left: list[NotDone] = []
    for each in (_parallel_maps(graph), _pool(graph), _prefetch(graph), _cache(graph)):
        for change in each:
            if isinstance(change, Change):
                found.append(change)
            else:
                left.append(change)
    maps = any(_is_parallel(stage) or _is_map(stage) for stage in graph.stages)
    if maps and any_order:
        found.append(
            Change(
                "nondeterministic-order",
                "whole pipeline",
                "options.deterministic = False",
                "the order of examples differs between runs",
                options=_let_overtake,
            )
        )
    elif maps:
        why = "it changes the order of examples: allow it by any_order=True"
        left.append(NotDone("nondeterministic-order", "whole pipeline", why))
    return found, left


def named(graph: PipelineGraph, stage: NodeDef) -> str:
    """A stage as a reader knows it: `map(decode)`."""
    kind = stage.op.removesuffix("V4").removesuffix("V3").removesuffix("V2").removesuffix("Dataset")
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.removeprefix("Parallel")).lower()
    match = _GIVEN_NAME.match(stage.attr["f"].func.name)
    function = match["name"] if match else ""
    return f"{kind}({'' if function.startswith(('lambda', 'class')) else function})"


def _is_map(stage: NodeDef) -> bool:
    return bool(stage.op == "MapDataset")


def _is_parallel(stage: NodeDef) -> bool:
    return bool(stage.op.startswith(("ParallelMap", "ParallelInterleave")))


def _parallel_maps(graph: PipelineGraph) -> Iterator[Change | NotDone]:
    """Maps that run one call after the other; their elements keep their order."""
    for stage in graph.stages:
        if not _is_map(stage):
            continue
        where = named(graph, stage)
        if graph.is_random(stage):
            why = "it draws random numbers, which other calls would get"
            yield NotDone("parallel-map", where, why)
            continue
        costs = "a buffer of a few elements"
        if graph.runs_python(stage):
            costs = "calls of your Python function in several threads, in another order"
        yield Change(
            "parallel-map",
            where,
            f"{where[:-1] or 'map('}, num_parallel_calls=tf.data.AUTOTUNE)",
            costs,
            apply=_made_parallel(stage.name),
            stage=stage.name,
        )


def _made_parallel(name: str) -> Callable[[PipelineGraph], None]:
    def apply(graph: PipelineGraph) -> None:
        calls = graph.constant("num_parallel_calls", AUTOTUNE, tf.int64)
        stage = next(stage for stage in graph.stages if stage.name == name)
        stage.op = "ParallelMapDatasetV2"
        stage.input.append(calls)
        stage.attr["deterministic"].s = b"default"
        stage.attr.pop("force_synchronous", None)

    return apply


def _cache(graph: PipelineGraph) -> Iterator[Change | NotDone]:
    """Behind the last work that is the same in every pass."""
    if any(stage.op.startswith("Cache") for stage in graph.stages):
        return
    if not graph.is_a_chain:
        yield NotDone("cache", "whole pipeline", "several datasets come together in it")
        return
    place = None
    for stage in graph.stages:
        if graph.is_random(stage) or stage.op.startswith(SEES_ORDER):
            break
        if any(word in stage.op for word in ("Map", "Interleave", "Filter")):
            place = stage
    if place is None:
        return
    where = named(graph, place)
    name = place.name

    def apply(changed: PipelineGraph) -> None:
        empty = changed.constant("filename", "", tf.string)
        stage = next(stage for stage in changed.stages if stage.name == name)
        changed.insert_after(stage, "CacheDataset", "CacheDataset", [empty])

    python = "; your Python function must give the same each time"
    costs = "memory for all that comes out there" + (python if graph.runs_python(place) else "")
    yield Change("cache", where, f"{where}.cache()", costs, apply=apply, stage=name, keeps=True)


def _prefetch(graph: PipelineGraph) -> Iterator[Change | NotDone]:
    """At the end."""
    stages = [stage for stage in graph.stages if not stage.op.startswith(("Options", "Model"))]
    if not stages or stages[-1].op.startswith("Prefetch"):
        return
    name = stages[-1].name

    def apply(changed: PipelineGraph) -> None:
        size = changed.constant("buffer_size", AUTOTUNE, tf.int64)
        stage = next(stage for stage in changed.stages if stage.name == name)
        changed.insert_after(stage, "PrefetchDataset", "PrefetchDataset", [size])

    yield Change(
        "prefetch",
        "end",
        "prefetch(tf.data.AUTOTUNE)",
        "a buffer of a few batches",
        apply=apply,
        beside_a_step=True,
    )


def _pool(graph: PipelineGraph) -> Iterator[Change | NotDone]:
    """More calls under way than there are cores, where they wait."""
    if any(_is_map(stage) or _is_parallel(stage) for stage in graph.stages):
        yield Change(
            "private-threadpool",
            "whole pipeline",
            f"options.threading.private_threadpool_size = {WIDER_POOL}",
            f"{WIDER_POOL} threads",
            options=_widen,
        )


def _widen(options: tf.data.Options) -> None:
    options.threading.private_threadpool_size = WIDER_POOL


def _let_overtake(options: tf.data.Options) -> None:
    options.deterministic = False
