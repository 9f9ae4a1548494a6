"""What a rewriting must show before it is measured."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import mean_bytes, start_alike

COMPARED = 64
"""So many elements of a changed stage are compared with those of the stage as it was."""


def reason_against(
    change: Change, graph: PipelineGraph, made: PipelineGraph, within_s: float
) -> str:
    """Why it must not be done; "" if the stage's first elements are as they were.

    Arguments:
        change: what was made.
        graph: without it.
        made: with it.
        within_s: seconds that taking the elements may last.
    """
    if not change.stage:
        return ""
    was, is_now = (each.until(change.stage).dataset() for each in (graph, made))
    if start_alike(was, is_now, COMPARED, within_s):
        return ""
    return "its elements would differ, or differ from one time to the next anyhow"


def not_filled(
    change: Change,
    graph: PipelineGraph,
    take: Callable[[int], object],
    *,
    batch_ms: float,
    left_s: float,
    within_s: float,
) -> str:
    """Why what it keeps cannot be kept; "" after a whole pass, which keeps all.

    Arguments:
        change: may keep what a pass makes.
        graph: without it.
        take: takes so many batches of the changed pipeline.
        batch_ms: milliseconds of a batch without it.
        left_s: seconds for all that is still to be tried.
        within_s: seconds that looking at elements may last.
    """
    if not change.keeps:
        return ""
    batches = int(graph.dataset().cardinality())
    if batches < 0:
        return "how many batches a pass through the data has is not known"
    if batches * batch_ms / 1e3 > left_s / 2:
        return "a pass through the data takes longer than the time that is left"
    kept = graph.until(change.stage).dataset()
    elements = int(kept.cardinality())
    if elements < 0:
        return "how many elements it would keep is not known"
    size = elements * mean_bytes(kept, COMPARED, within_s)
    if size > psutil.virtual_memory().available / 2:
        return f"{size / 2**20:.0f} MiB would take more than half of the memory that is free"
    # All is kept once the end has been seen.
    take(batches + 1)
    return ""
