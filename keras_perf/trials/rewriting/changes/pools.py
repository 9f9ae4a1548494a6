"""A pool of threads of a pipeline's own, which lets more calls wait at a time."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_perf.observers.usable_cores import usable_cores
from keras_perf.trials.rewriting.changes.stages import own_pool
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph

LEAST, PER_CORE = 16, 2
"""Threads of a pool of its own, in all and for each core: calls that wait need no core each."""

Setting = Callable[[tf.data.Options], None]


def threads() -> int:
    """So many are tried."""
    return max(LEAST, PER_CORE * (usable_cores() or 1))


def code() -> str:
    """How one sets them."""
    return f"options.threading.private_threadpool_size = {threads()}"


def widen(options: tf.data.Options) -> None:
    """Sets them."""
    options.threading.private_threadpool_size = threads()


def for_one_core(graph: PipelineGraph) -> Setting | None:
    """Where tf.data has one thread, calls in parallel need this as well; None where it has more."""
    return widen if usable_cores() == 1 and own_pool(graph) <= 1 else None
