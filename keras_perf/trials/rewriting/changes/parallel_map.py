"""Several calls of a map's function at once."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import Change, Found, NotDone
from keras_perf.trials.rewriting.changes.stages import (
    in_parallel,
    is_sequential_map,
    named,
    present,
)
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def parallel_maps(graph: PipelineGraph, *, in_order: bool = False) -> Found:
    """Maps that run one call after the other; their elements keep their order.

    Arguments:
        graph: of the pipeline.
        in_order: they keep it whatever the pipeline's options are.
    """
    for stage in graph.stages:
        if not is_sequential_map(stage):
            continue
        where = named(stage)
        if graph.is_random(stage):
            why = WhyNotTried.RANDOM_CALLS.of()
            yield NotDone("parallel-map", where, why)
            continue
        costs = Costs.FEW_ELEMENTS.of()
        if graph.runs_python(stage):
            costs = Costs.SEVERAL_THREADS.of()
        yield Change(
            "parallel-map",
            where,
            in_parallel(stage, in_order=in_order),
            costs,
            apply=_made_parallel(stage.name, in_order=in_order),
            stage=stage.name,
            promise=3,
        )


def _made_parallel(name: str, *, in_order: bool) -> Callable[[PipelineGraph], None]:
    def apply(graph: PipelineGraph) -> None:
        calls = graph.constant("num_parallel_calls", tf.data.AUTOTUNE, tf.int64)
        stage = present(graph, name, "MapDataset")
        stage.op = "ParallelMapDatasetV2"
        stage.input.append(calls)
        stage.attr["deterministic"].s = b"true" if in_order else b"default"
        stage.attr.pop("force_synchronous", None)

    return apply
