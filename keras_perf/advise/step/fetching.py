"""What fetching a batch takes within a long execution."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.step.step_model import StepModel, between

WOKEN_MS = 1.0
"""A call waits up to so long until the thread wakes that fetches its batch, though that is ready;
within an execution it is awake. Waits of 0.4 ms a call came to 0.08 ms a step in long ones."""


def fetching_sooner(
    model: StepModel, in_graph_ms: float | None, able_ms: float, optimism: float
) -> StepModel:
    """Of what a call waits for its batch, waking is not waited for in each step.

    At worst all of it stays, and what is expected is what the trials' steps took beside computing.
    At best nothing is left but the pipeline's work, where training waits for that.

    Arguments:
        model: with the rest as it will be.
        in_graph_ms: a step inside the trials' long executions; None where it is not known.
        able_ms: the pipeline's work for a batch, as tf.data counts it.
        optimism: from −1 to +1.
    """
    fetched = model.rest.get("fetch", 0.0)
    waits, work = (fetched, 0.0) if model.prefetched else (model.produce_ms, able_ms)
    least = min(waits, max(work, waits - WOKEN_MS))
    computing = model.rest.get("compute", 0.0)
    tried = waits if in_graph_ms is None else max(0.0, in_graph_ms - computing)
    expected = min(waits, max(least, tried))
    left = between(waits, expected, least, optimism)
    if model.prefetched:
        return replace(model, rest={**model.rest, "fetch": left})
    return model.hidden(left / waits) if waits else model
