"""Options of the whole pipeline: a pool of its own, and order given up."""

from __future__ import annotations

from itertools import dropwhile

import tensorflow as tf

from keras_perf.records.advice_ids import NONDETERMINISTIC_ORDER, PRIVATE_THREADPOOL
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.input.pipeline import BY_PLACE
from keras_perf.trials.rewriting.changes import pools
from keras_perf.trials.rewriting.changes.change import Change, Found, NotDone
from keras_perf.trials.rewriting.changes.stages import is_map, is_parallel, kind, own_pool
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def wider_pool(graph: PipelineGraph) -> Found:
    """More calls under way than there are cores, where they wait and the pool is not as wide."""
    if not _calls(graph) or own_pool(graph) >= pools.threads():
        return
    yield Change(
        PRIVATE_THREADPOOL,
        "whole pipeline",
        pools.code(),
        Costs.THREADS.of(number=pools.threads()),
        options=pools.widen,
    )


def order_given_up(graph: PipelineGraph, *, allowed: bool) -> Found:
    """Elements pass on as they are ready, if that is allowed and none is known by its place."""
    if not _calls(graph):
        return
    made = dropwhile(lambda stage: not (is_map(stage) or is_parallel(stage)), graph.stages)
    if by_place := [kind(stage) for stage in made if kind(stage) in BY_PLACE]:
        why = WhyNotTried.BY_PLACE.of(stage=by_place[0])
        yield NotDone(NONDETERMINISTIC_ORDER, "whole pipeline", why)
        return
    if not allowed:
        why = WhyNotTried.ORDER.of()
        yield NotDone(NONDETERMINISTIC_ORDER, "whole pipeline", why)
        return
    yield Change(
        NONDETERMINISTIC_ORDER,
        "whole pipeline",
        "options.deterministic = False",
        Costs.ORDER.of(),
        options=_let_overtake,
    )


def _calls(graph: PipelineGraph) -> bool:
    return any(is_map(stage) or is_parallel(stage) for stage in graph.stages)


def _let_overtake(options: tf.data.Options) -> None:
    options.deterministic = False
