"""Stages of a pipeline, as the changes tell them apart."""

from __future__ import annotations

import re

from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.trials.rewriting.changes.change import NoLongerPossibleError
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

SEES_ORDER = ("Shuffle", "Repeat", "Random", "Cache", "Sample", "Choose", "Directed")
"""Stages behind which elements differ from pass to pass, or need not be kept."""

_GIVEN_NAME = re.compile(r"__inference_Dataset_[a-z_]+?_(?P<name>.+)_\d+$")


def function_name(stage: NodeDef) -> str:
    """Of the function that a stage calls; "" for a lambda, or where there is none."""
    called = stage.attr["predicate" if stage.op == "FilterDataset" else "f"].func.name
    match = _GIVEN_NAME.match(called)
    name = match["name"] if match else ""
    return "" if name.startswith(("lambda", "class")) else name


def named(stage: NodeDef) -> str:
    """A stage as a reader knows it: `map(decode)`."""
    kind = stage.op.removesuffix("V4").removesuffix("V3").removesuffix("V2").removesuffix("Dataset")
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.removeprefix("Parallel")).lower()
    return f"{kind}({function_name(stage)})"


def in_parallel(stage: NodeDef) -> str:
    """How one writes that its function is called several times at once."""
    kind = named(stage).partition("(")[0]
    return f"{kind}({function_name(stage) or '…'}, num_parallel_calls=tf.data.AUTOTUNE)"


def is_map(stage: NodeDef) -> bool:
    """A map, one call after the other or several at once."""
    return stage.op in ("MapDataset", "ParallelMapDataset", "ParallelMapDatasetV2")


def is_sequential_map(stage: NodeDef) -> bool:
    """A map, one call after the other."""
    return bool(stage.op == "MapDataset")


def is_parallel(stage: NodeDef) -> bool:
    """Several calls of its function at once."""
    return bool(stage.op.startswith(("ParallelMap", "ParallelInterleave")))


def present(graph: PipelineGraph, name: str, op: str = "") -> NodeDef:
    """The stage of this name.

    Raises:
        NoLongerPossibleError: it is gone, or another operation by now.
    """
    found = [stage for stage in graph.stages if stage.name == name]
    if not found or (op and found[0].op != op):
        raise NoLongerPossibleError(f"another change took {name} away")
    return found[0]
