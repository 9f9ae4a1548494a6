"""Options of the whole pipeline: a pool of its own, and order given up."""

from __future__ import annotations

import tensorflow as tf

from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.change import Change, Found, NotDone
from keras_perf.trials.rewriting.changes.stages import is_map, is_parallel
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

WIDER_POOL = 16
"""Threads of a pool of its own: calls that wait need no core each."""


def wider_pool(graph: PipelineGraph) -> Found:
    """More calls under way than there are cores, where they wait."""
    if _calls(graph):
        yield Change(
            "private-threadpool",
            "whole pipeline",
            f"options.threading.private_threadpool_size = {WIDER_POOL}",
            Costs.THREADS.of(number=WIDER_POOL),
            options=_widen,
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


def _widen(options: tf.data.Options) -> None:
    options.threading.private_threadpool_size = WIDER_POOL


def _let_overtake(options: tf.data.Options) -> None:
    options.deterministic = False
