"""What the buffers of shuffles hold, and how long they take to fill."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.advice_ids import SMALLER_SHUFFLE
from keras_perf.records.figures import in_bytes, in_s
from keras_perf.trials.measuring.side_by_side import EndlessPipeline
from keras_perf.trials.rewriting.changes import NotDone
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import mean_bytes

LONG_S = 1.0
FEW = 64
"""Elements in a buffer on trial, at most."""

LARGE = 2**28
"""Bytes. A buffer that fills faster than in `LONG_S` and is smaller is not worth a line."""


def soon_filled(graph: PipelineGraph) -> PipelineGraph:
    """A copy to take elements of on trial: its shuffles hold few, so that its order is another.

    A shuffle takes as long for an element whatever its size, but for its filling, which each
    iterator begins with.
    """
    changed = graph.copy()
    for name in [stage.name for stage in changed.stages if _shuffles(stage)]:
        few = changed.constant("buffer_size", FEW, tf.int64)
        stage = next(each for each in changed.stages if each.name == name)
        held = changed.value(stage.input[1])
        if held is None or not 0 < int(held) <= FEW:
            stage.input[1] = few
    return changed


def smaller_buffers(
    graph: PipelineGraph,
    *,
    look_at: int,
    within_s: float,
    element_ms: Callable[[tf.data.Dataset], float] = lambda data: EndlessPipeline(data).batch_ms(),
) -> list[NotDone]:
    """The price of each large buffer: a smaller one is for the caller to choose.

    Arguments:
        graph: of the pipeline.
        look_at: elements whose mean size is taken.
        within_s: seconds for that.
        element_ms: measures how long an element takes.
    """
    found: list[NotDone] = []
    for stage in graph.stages:
        source = graph.source(stage) if _shuffles(stage) else None
        size = graph.value(stage.input[1]) if source is not None else None
        if source is None or size is None:
            continue
        before = soon_filled(graph).until(source.name).dataset()
        most = int(before.cardinality())
        size = min(int(size), most) if most >= 0 else int(size)
        try:
            fill_s = size * element_ms(before) / 1e3
            held = size * mean_bytes(before, look_at, within_s)
        except (TypeError, ValueError, tf.errors.OpError):
            # Elements that cannot be looked at, such as datasets.
            continue
        if fill_s < LONG_S and held < LARGE:
            continue
        why = (
            f"yours to choose: its {size:,} elements take {in_bytes(held)}, and "
            f"{in_s(fill_s)} to fill before the first batch of each pass; fewer are less random"
        )
        found.append(NotDone(SMALLER_SHUFFLE, f"shuffle({size})", why))
    return found


def _shuffles(stage: NodeDef) -> bool:
    """Its second input is the number of elements that it holds."""
    return bool(stage.op.startswith("Shuffle"))
