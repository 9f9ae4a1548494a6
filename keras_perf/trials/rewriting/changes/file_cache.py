"""Elements kept in a file, where they do not fit into memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import tensorflow as tf

from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.reason import Reason
from keras_perf.trials.rewriting.changes.change import Change, NoLongerPossibleError
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def in_file(change: Change, costs: Callable[[Reason], Reason], cache_dir: Path) -> Change:
    """The same cache with a file; a folder of its own in `cache_dir`, made once it is filled.

    Arguments:
        change: a cache in memory.
        costs: what it costs, told with where it is kept.
        cache_dir: an existing directory.
    """
    folder = cache_dir / f"keras_perf_{uuid.uuid4().hex[:8]}"
    file = str(folder / "elements")

    def apply(graph: PipelineGraph) -> None:
        if change.apply is None:
            raise NoLongerPossibleError("it puts no cache anywhere")
        change.apply(graph)
        name = graph.constant("filename", file, tf.string)
        [stage] = [stage for stage in graph.stages if stage.op == "CacheDataset"]
        stage.input[1] = name

    return replace(
        change,
        code=change.code.replace(".cache()", f".cache({file!r})"),
        costs=costs(Costs.IN_FILES.of(folder=str(folder))),
        apply=apply,
        folder=folder,
        in_memory=change,
    )
