"""Several datasets of an interleave read at once."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import Change, Found, NotDone
from keras_perf.trials.rewriting.changes.stages import in_parallel, named, present
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def parallel_interleaves(graph: PipelineGraph, *, in_order: bool = False) -> Found:
    """Interleaves that read one dataset after the other; their elements keep their order.

    Arguments:
        graph: of the pipeline.
        in_order: they keep it whatever the pipeline's options are.
    """
    for stage in graph.stages:
        if stage.op != "InterleaveDataset":
            continue
        where = named(stage)
        inside = graph.operations(stage)
        if graph.is_random(stage) or any(each.startswith("Shuffle") for each in inside):
            why = WhyNotTried.RANDOM_READS.of()
            yield NotDone("interleave", where, why)
            continue
        cycle = graph.value(stage.input[-2])
        costs = Costs.EACH_DATASET.of()
        if cycle is not None:
            costs = Costs.DATASETS.of(number=int(cycle))
        if graph.runs_python(stage):
            costs = Costs.BOTH.of(one=costs, other=Costs.SEVERAL_THREADS.of())
        yield Change(
            "interleave",
            where,
            in_parallel(stage, in_order=in_order),
            costs,
            apply=_made_parallel(stage.name, in_order=in_order),
            stage=stage.name,
            promise=2,
        )


def _made_parallel(name: str, *, in_order: bool) -> Callable[[PipelineGraph], None]:
    def apply(graph: PipelineGraph) -> None:
        wanted = ("buffer_output_elements", "prefetch_input_elements", "num_parallel_calls")
        added = [graph.constant(each, tf.data.AUTOTUNE, tf.int64) for each in wanted]
        stage = present(graph, name, "InterleaveDataset")
        stage.op = "ParallelInterleaveDatasetV4"
        stage.input.extend(added)
        stage.attr["deterministic"].s = b"true" if in_order else b"default"

    return apply
