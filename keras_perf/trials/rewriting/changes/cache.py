"""Elements kept after the first pass."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.advice_ids import CACHE
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import (
    Change,
    Found,
    NoLongerPossibleError,
    NotDone,
)
from keras_perf.trials.rewriting.changes.stages import BATCHES, SEES_ORDER, kind, named, present
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def cache(graph: PipelineGraph) -> Found:
    """Behind the last work that is the same in every pass, then behind each before it.

    Batches are kept where they are made of that work: unless they are padded they take as much room
    as their elements, and are not put together again. An earlier place gains less, and may need
    less room.
    """
    if has_cache(graph):
        return
    if not graph.is_a_chain:
        end = _end_of_all(graph)
        if end is None:
            yield NotDone(CACHE, "whole pipeline", WhyNotTried.SEVERAL_DATASETS.of())
        else:
            python = any(graph.runs_python(stage) for stage in graph.stages)
            yield _behind("", (end.name,), "", python=python)
        return
    places: list[tuple[str, tuple[str, ...], bool]] = []
    for stage in graph.stages:
        if differs_from_pass_to_pass(graph, stage):
            break
        if _works(stage):
            places.append((named(stage), (stage.name,), graph.runs_python(stage)))
        elif stage.op in BATCHES and places:
            where, names, python = places.pop()
            places.append((f"{where}.{kind(stage)}(…)", (*names, stage.name), python))
    better = ""
    for where, names, python in reversed(places):
        yield _behind(where, names, better, python=python)
        better = where


def _end_of_all(graph: PipelineGraph) -> NodeDef | None:
    """Where all that several datasets come to can be kept.

    None where no function is called, where a pass differs from another, and where it never ends.
    A dataset that is repeated before it meets others, as one array for every window in it, is the
    same in every pass.
    """
    end: list[NodeDef] = [graph.stages[-1]]
    while (source := graph.source(end[-1])) is not None:
        end.append(source)
    repeated = any(stage.op.startswith("Repeat") for stage in end)
    inside = (stage for stage in graph.stages if not stage.op.startswith("Repeat"))
    if repeated or graph.batches is None or not any(map(_works, graph.stages)):
        return None
    if any(differs_from_pass_to_pass(graph, stage) for stage in inside):
        return None
    return next(stage for stage in end if not stage.op.startswith(("Prefetch", "Options")))


def _works(stage: NodeDef) -> bool:
    """It calls a function."""
    return any(word in stage.op for word in ("Map", "Interleave", "Filter"))


def _behind(where: str, names: tuple[str, ...], better: str, *, python: bool) -> Change:

    def apply(changed: PipelineGraph) -> None:
        keep_behind(changed, names)

    def costs(where_kept: Reason) -> Reason:
        # Trials fill a cache before they measure.
        of_a_pass = Costs.KEPT.of(where=where_kept)
        return Costs.SAME_EACH_TIME.of(one=of_a_pass) if python else of_a_pass

    return Change(
        CACHE,
        where or "whole pipeline",
        f"{where}.cache()" if where else "cache()",
        costs(Costs.IN_MEMORY.of()),
        apply=apply,
        stages=names,
        keeps=True,
        costs_kept=costs,
        in_place_of=better,
        promise=4,
    )


def differs_from_pass_to_pass(graph: PipelineGraph, stage: NodeDef) -> bool:
    """What comes out of it, or its order, is not for a cache to keep."""
    inside = graph.operations(stage)
    return bool(
        graph.is_random(stage)
        or stage.op.startswith(SEES_ORDER)
        or any(each.startswith("Shuffle") for each in inside)
    )


def has_cache(graph: PipelineGraph) -> bool:
    """Some stage keeps elements already."""
    return any(stage.op.startswith("Cache") for stage in graph.stages)


def keep_behind(graph: PipelineGraph, names: Sequence[str]) -> None:
    """Puts a cache behind the stages of these names, whose order another change may have turned.

    Raises:
        NoLongerPossibleError: there is one by now, or a stage is gone.
    """
    if has_cache(graph):
        raise NoLongerPossibleError("another change put a cache there")
    empty = graph.constant("filename", "", tf.string)
    last = max((present(graph, name) for name in names), key=graph.stages.index)
    graph.insert_after(last, "CacheDataset", "CacheDataset", [empty])
