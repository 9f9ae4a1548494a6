"""Options of the whole pipeline: a pool of its own, and order given up."""

from __future__ import annotations

import tensorflow as tf

from keras_perf.observers.usable_cores import usable_cores
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import Change, Found, NotDone
from keras_perf.trials.rewriting.changes.stages import is_map, is_parallel, own_pool
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

LEAST, PER_CORE = 16, 2
"""Threads of a pool of its own, in all and for each core: calls that wait need no core each."""


def wider_pool(graph: PipelineGraph) -> Found:
    """More calls under way than there are cores, where they wait and the pool is not as wide."""
    threads = max(LEAST, PER_CORE * (usable_cores() or 1))
    if not _calls(graph) or own_pool(graph) >= threads:
        return

    def widen(options: tf.data.Options) -> None:
        options.threading.private_threadpool_size = threads

    yield Change(
        "private-threadpool",
        "whole pipeline",
        f"options.threading.private_threadpool_size = {threads}",
        Costs.THREADS.of(number=threads),
        options=widen,
    )


def order_given_up(graph: PipelineGraph, *, allowed: bool) -> Found:
    """Elements pass on as they are ready, if that is allowed."""
    if not _calls(graph):
        return
    if not allowed:
        why = WhyNotTried.ORDER.of()
        yield NotDone("nondeterministic-order", "whole pipeline", why)
        return
    yield Change(
        "nondeterministic-order",
        "whole pipeline",
        "options.deterministic = False",
        Costs.ORDER.of(),
        options=_let_overtake,
    )


def _calls(graph: PipelineGraph) -> bool:
    return any(is_map(stage) or is_parallel(stage) for stage in graph.stages)


def _let_overtake(options: tf.data.Options) -> None:
    options.deterministic = False
