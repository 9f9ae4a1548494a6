"""Stages of a pipeline, as the changes tell them apart."""

from __future__ import annotations

import re

from tensorflow.core.framework.dataset_options_pb2 import Options
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.changes.change import NoLongerPossibleError
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

SEES_ORDER = ("Shuffle", "Repeat", "Random", "Cache", "Sample", "Choose", "Directed")
"""Stages behind which elements differ from pass to pass, or need not be kept."""

BATCHES = ("BatchDatasetV2", "ParallelBatchDataset")
"""Stages that make batches and pad nothing."""

_GIVEN_NAME = re.compile(r"__inference_Dataset_[a-z_]+?_(?P<name>.+)_\d+$")


def function_name(stage: NodeDef) -> str:
    """Of the function that a stage calls; "" for a lambda, or where there is none."""
    called = stage.attr["predicate" if stage.op == "FilterDataset" else "f"].func.name
    match = _GIVEN_NAME.match(called)
    name = match["name"] if match else ""
    return "" if name.startswith(("lambda", "class")) else name


def named(stage: NodeDef) -> str:
    """A stage as a reader knows it: `map(decode)`."""
    return f"{kind(stage)}({function_name(stage)})"


def kind(stage: NodeDef) -> str:
    """The method that makes such a stage: `map`."""
    name = stage.op.removesuffix("V4").removesuffix("V3").removesuffix("V2").removesuffix("Dataset")
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name.removeprefix("Parallel")).lower()


def is_map(stage: NodeDef) -> bool:
    """A map, one call after the other or several at once."""
    return stage.op in ("MapDataset", "ParallelMapDataset", "ParallelMapDatasetV2")


def is_parallel(stage: NodeDef) -> bool:
    """Several calls of its function at once."""
    return bool(stage.op.startswith(("ParallelMap", "ParallelInterleave")))


def leaves_errors_out(graph: PipelineGraph) -> bool:
    """Some stage passes over elements with an error, as `ignore_errors` does."""
    return any(stage.op.startswith("IgnoreErrors") for stage in graph.stages)


def lets_overtake(graph: PipelineGraph) -> bool:
    """Its options let elements of stages in parallel come as they are ready."""
    options = _options(graph)
    return any(each.HasField("deterministic") and not each.deterministic for each in options)


def own_pool(graph: PipelineGraph) -> int:
    """Threads of the pipeline's own pool, the largest that options set; 0 where it has none."""
    return max((o.threading_options.private_threadpool_size for o in _options(graph)), default=0)


def _options(graph: PipelineGraph) -> list[Options]:
    written = (s.attr["serialized_options"].s for s in graph.stages if s.op == "OptionsDataset")
    return [Options.FromString(each) for each in written]


def present(graph: PipelineGraph, name: str, op: str = "") -> NodeDef:
    """The stage of this name.

    Raises:
        NoLongerPossibleError: it is gone, or another operation by now.
    """
    found = [stage for stage in graph.stages if stage.name == name]
    if not found or (op and found[0].op != op):
        raise NoLongerPossibleError(f"another change took {name} away")
    return found[0]
