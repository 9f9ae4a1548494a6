"""Several calls of a map's function at once, or several datasets of an interleave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.advice_ids import INTERLEAVE, PARALLEL_MAP
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes import pools
from keras_perf.trials.rewriting.changes.change import Change, Found, NotDone
from keras_perf.trials.rewriting.changes.stages import function_name, named, present
from keras_perf.trials.rewriting.functions.changing_operations import DRAWS
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def parallel_maps(graph: PipelineGraph, *, in_order: bool, draws_others: bool) -> Found:
    """Maps that run one call after the other; their elements keep their order.

    Arguments:
        graph: of the pipeline.
        in_order: they keep it whatever the pipeline's options are.
        draws_others: a map may draw other random numbers for an element.
    """
    for stage in graph.stages:
        if stage.op != "MapDataset":
            continue
        where, changing = named(stage), graph.changing(stage)
        draws = bool(changing) and not changing - DRAWS
        if changing and (why := _against(graph, stage, draws=draws, draws_others=draws_others)):
            yield NotDone(PARALLEL_MAP, where, why)
            continue
        costs = Costs.FEW_ELEMENTS.of()
        if graph.runs_python(stage):
            costs = Costs.SEVERAL_THREADS.of()
        if draws:
            costs = Costs.BOTH.of(one=costs, other=Costs.OTHER_DRAWS.of())
        yield Change(
            PARALLEL_MAP,
            where,
            _code(graph, stage, in_order=in_order),
            costs,
            apply=_made_parallel(
                stage.name,
                "MapDataset",
                "ParallelMapDatasetV2",
                ("num_parallel_calls",),
                in_order=in_order,
            ),
            options=pools.for_one_core(graph),
            # What is drawn anew has no elements to compare.
            stages=() if draws else (stage.name,),
            promise=3,
        )


def parallel_interleaves(graph: PipelineGraph, *, in_order: bool) -> Found:
    """Interleaves that read one dataset after the other, likewise."""
    for stage in graph.stages:
        if stage.op != "InterleaveDataset":
            continue
        where = named(stage)
        inside = graph.operations(stage)
        if graph.is_random(stage) or any(each.startswith("Shuffle") for each in inside):
            yield NotDone(INTERLEAVE, where, WhyNotTried.RANDOM_READS.of())
            continue
        cycle = graph.value(stage.input[-2])
        costs = Costs.EACH_DATASET.of()
        if cycle is not None:
            costs = Costs.DATASETS.of(number=int(cycle))
        if graph.runs_python(stage):
            costs = Costs.BOTH.of(one=costs, other=Costs.SEVERAL_THREADS.of())
        yield Change(
            INTERLEAVE,
            where,
            _code(graph, stage, in_order=in_order),
            costs,
            apply=_made_parallel(
                stage.name,
                "InterleaveDataset",
                "ParallelInterleaveDatasetV4",
                ("buffer_output_elements", "prefetch_input_elements", "num_parallel_calls"),
                in_order=in_order,
            ),
            options=pools.for_one_core(graph),
            stages=(stage.name,),
            promise=2,
        )


def _against(graph: PipelineGraph, stage: NodeDef, *, draws: bool, draws_others: bool) -> str:
    """Why several calls at once may not share what each call of a map changes; "" if they may."""
    if not draws:
        return WhyNotTried.RANDOM_CALLS.of()
    if not draws_others:
        return WhyNotTried.DRAWS.of()
    seeds = Counter(seed for each in graph.stages for seed in graph.seeds(each))
    alike = any(seeds[seed] > 1 for seed in graph.seeds(stage))
    return WhyNotTried.DRAWS_ALIKE.of() if alike else ""


def _code(graph: PipelineGraph, stage: NodeDef, *, in_order: bool) -> str:
    """How one writes it."""
    kind = named(stage).partition("(")[0]
    said = ", deterministic=True" if in_order else ""
    pool = f"  # with {pools.code()}" if pools.for_one_core(graph) else ""
    called = function_name(stage) or "…"
    return f"{kind}({called}, num_parallel_calls=tf.data.AUTOTUNE{said}){pool}"


def _made_parallel(
    name: str, op: str, parallel: str, inputs: tuple[str, ...], *, in_order: bool
) -> Callable[[PipelineGraph], None]:
    """One operation in place of another, with more inputs, which TensorFlow tunes."""

    def apply(graph: PipelineGraph) -> None:
        added = [graph.constant(each, tf.data.AUTOTUNE, tf.int64) for each in inputs]
        stage = present(graph, name, op)
        stage.op = parallel
        stage.input.extend(added)
        stage.attr["deterministic"].s = b"true" if in_order else b"default"
        stage.attr.pop("force_synchronous", None)

    return apply
