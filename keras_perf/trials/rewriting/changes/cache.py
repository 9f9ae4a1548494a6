"""Elements kept after the first pass."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import (
    Change,
    Found,
    NoLongerPossibleError,
    NotDone,
)
from keras_perf.trials.rewriting.changes.stages import SEES_ORDER, named, present
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def cache(graph: PipelineGraph) -> Found:
    """Behind the last work that is the same in every pass, then behind each before it.

    An earlier place gains less, and may need less room.
    """
    if has_cache(graph):
        return
    if not graph.is_a_chain:
        yield NotDone("cache", "whole pipeline", WhyNotTried.SEVERAL_DATASETS.of())
        return
    places: list[NodeDef] = []
    for stage in graph.stages:
        if differs_from_pass_to_pass(graph, stage):
            break
        if any(word in stage.op for word in ("Map", "Interleave", "Filter")):
            places.append(stage)
    better = ""
    for place in reversed(places):
        yield _behind(graph, place, better)
        better = named(place)


def _behind(graph: PipelineGraph, place: NodeDef, better: str) -> Change:
    where, name, python = named(place), place.name, graph.runs_python(place)

    def apply(changed: PipelineGraph) -> None:
        keep_behind(changed, name)

    def costs(where_kept: Reason) -> Reason:
        # Trials fill a cache before they measure.
        of_a_pass = Costs.KEPT.of(where=where_kept)
        return Costs.SAME_EACH_TIME.of(one=of_a_pass) if python else of_a_pass

    return Change(
        "cache",
        where,
        f"{where}.cache()",
        costs(Costs.IN_MEMORY.of()),
        apply=apply,
        stage=name,
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


def keep_behind(graph: PipelineGraph, name: str) -> None:
    """Puts a cache behind the stage of this name.

    Raises:
        NoLongerPossibleError: there is one by now, or the stage is gone.
    """
    if has_cache(graph):
        raise NoLongerPossibleError("another change put a cache there")
    empty = graph.constant("filename", "", tf.string)
    graph.insert_after(present(graph, name), "CacheDataset", "CacheDataset", [empty])
