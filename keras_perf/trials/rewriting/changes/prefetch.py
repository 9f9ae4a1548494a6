"""The next batches made while a step trains."""

from __future__ import annotations

import tensorflow as tf

from keras_perf.records.advice_ids import PREFETCH
from keras_perf.records.reasons.price import Costs
from keras_perf.trials.rewriting.changes.change import Change, Found
from keras_perf.trials.rewriting.changes.stages import present
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph


def prefetch(graph: PipelineGraph) -> Found:
    """At the end."""
    stages = [stage for stage in graph.stages if not stage.op.startswith(("Options", "Model"))]
    if not stages or stages[-1].op.startswith("Prefetch"):
        return

    def apply(changed: PipelineGraph) -> None:
        size = changed.constant("buffer_size", tf.data.AUTOTUNE, tf.int64)
        # Another change may have put another stage last.
        last = [each for each in changed.stages if not each.op.startswith(("Options", "Model"))][-1]
        changed.insert_after(
            present(changed, last.name), "PrefetchDataset", "PrefetchDataset", [size]
        )

    yield Change(
        PREFETCH,
        "end",
        "prefetch(tf.data.AUTOTUNE)",
        Costs.FEW_BATCHES.of(),
        apply=apply,
        beside_a_step=True,
    )
