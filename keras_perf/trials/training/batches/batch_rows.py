"""How many rows a batch has, and whether memory is there for more of them."""

from __future__ import annotations

import resource
import sys

from keras_perf.observers.container.limits import memory_available_mib
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.rewriting.array_batches import ArrayBatches
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

BATCH_SIZE = {
    "BatchDatasetV2": 1,
    "ParallelBatchDataset": 1,
    "PaddedBatchDatasetV2": 1,
    "MapAndBatchDataset": -3,
}
"""Where the size is among the inputs of a stage that makes batches."""

REGROUPS = (
    "Rebatch",
    "Unbatch",
    "FlatMap",
    "Interleave",
    "ParallelInterleave",
    "GroupBy",
    "Window",
)
"""Beginnings of stages behind which batches are no longer those that were made before."""

_MIB = 2**20
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


def rows_of(graph: PipelineGraph) -> int | None:
    """Of a batch, as the pipeline has it; None where it does not say."""
    if isinstance(graph, ArrayBatches):
        return graph.rows
    for stage in reversed(graph.stages):
        if stage.op.startswith(REGROUPS):
            return None
        if stage.op in BATCH_SIZE:
            found = graph.value(stage.input[BATCH_SIZE[stage.op]])
            return None if found is None else int(found)
    return None


def why_no_room(rows: int, times: int) -> str:
    """Why batches of so many rows are not to be trained in this process; "" if they may be.

    On a GPU its allocator raises where memory runs out. Elsewhere Linux ends the program. What
    grows with a batch was held when a smaller one was trained, so that the peak of all that this
    process held is the most that it can be; half of the free memory is left for what grows faster.

    Arguments:
        rows: of the larger batch.
        times: so many times as many as in the batches that were trained here.
    """
    if training_backend().on_gpu():
        return ""
    needed_mib = (times - 1) * peak_mib()
    free_mib = memory_available_mib()
    if needed_mib < free_mib / 2:
        return ""
    return WhyNotTried.NO_ROOM_FOR_BATCH.of(rows=rows, needed_mib=needed_mib, free_mib=free_mib)


def peak_mib() -> float:
    """The most memory that this process ever held; Linux may count a parent's that started it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _PEAK_UNIT / _MIB
