"""The stages of a running tf.data pipeline, read from its own model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_perf.records.run.input.pipeline import Stage

RUNS_PIPELINES = INTERLEAVE, ASYNC_INTERLEAVE = 1, 2
"""Classes of nodes that run a pipeline for each of their elements: one after the other, or
several at a time (tensorflow/core/framework/model.proto)."""


def stages_from_model(model: Any) -> tuple[Stage, ...]:
    """Stages from the source to the last one.

    Arguments:
        model: a `tensorflow.data.model.ModelProto`, as from
            `tf.data.experimental.get_model_proto(iterator)`.

    Returns:
        () if the pipeline has let go of its first stages, as it does at the end of the data.

    A stage that makes a pipeline for each of its elements (flat_map, interleave) shows one of
    those, the one that has run longest, as if it made everything.

    What it cannot see: the user's own stages after tf.data fused or replaced them (map and
    batch become `MapAndBatch`), and anything behind a Python generator.
    """
    nodes = model.nodes
    stages: list[Stage] = []
    pending = [(model.output, 1.0, 1)]
    batches = 0
    while pending:
        key, per_batch, threads = pending.pop()
        if key not in nodes:
            continue
        node = nodes[key]
        made = max(1, node.num_elements)
        batches = batches or made
        # Downstream ratios tell how many elements make a batch. Where tf.data does not know
        # one (0, as for flat_map), what was produced so far has to do: it includes what lies
        # in buffers.
        per_batch = per_batch or made / batches
        parameters = {p.name: _value(p) for p in node.parameters}
        own = _own_threads(node, parameters)
        if not node.inputs and not _is_source(node):
            return ()
        feeding = _feeding(nodes, node, per_batch, threads, own)
        pending.extend(feeding)
        if node.name != "Root":
            stages.append(
                Stage(
                    name=node.name,
                    cost_ms=_cost_ns(node, made) * per_batch / 1e6,
                    elements_per_batch=per_batch,
                    parallelism=max(threads, own),
                    buffer_size=parameters.get("buffer_size", 0),
                    buffered=int(node.buffered_elements),
                    ratio=float(node.ratio),
                    bytes_per_batch=node.bytes_produced / made * per_batch,
                    inputs=len(feeding),
                )
            )
    return tuple(reversed(stages))


def _feeding(
    nodes: Any, node: Any, per_batch: float, threads: int, own: int
) -> list[tuple[int, float, int]]:
    """Where it takes its elements from: key, elements in a batch (0 if unknown), threads."""
    if node.node_class in RUNS_PIPELINES:
        inside = own if node.node_class == ASYNC_INTERLEAVE else threads
        return _of_interleave(nodes, node, per_batch, inside)
    inputs = reversed([key for key in node.inputs if key in nodes])
    return [(key, per_batch * node.ratio, threads) for key in inputs]


def _own_threads(node: Any, parameters: Mapping[str, int]) -> int:
    default = parameters.get("cycle_length", 1) if node.node_class == ASYNC_INTERLEAVE else 1
    return parameters.get("parallelism", default)


def _is_source(node: Any) -> bool:
    """A shuffle that holds all that is left has let go of what it came from."""
    if node.node_class in RUNS_PIPELINES:
        return False
    return node.ratio == 0 or "Cache" in node.name or node.name.startswith("Shuffle")


MOST_SHUFFLED_NS = 5000.0
"""A shuffle hands an element over in 1 to 2 µs, whatever its buffer: seen in 100 batches of 64."""


def _cost_ns(node: Any, made: int) -> float:
    """Of an element.

    tf.data counts as a shuffle's work, too, that it fills its buffer and starts what stands before
    it, once a pass: 120 to 180 ms in the first of those batches. Training shows that as a refill.
    """
    each_ns = node.processing_time / made
    return float(min(each_ns, MOST_SHUFFLED_NS) if node.name.startswith("Shuffle") else each_ns)


def _of_interleave(
    nodes: Any, node: Any, per_batch: float, threads: int
) -> list[tuple[int, float, int]]:
    """What it takes its elements from, and of the pipelines that it runs the longest."""
    source, *running = node.inputs
    longest = max(
        (k for k in running if k in nodes), key=lambda k: nodes[k].num_elements, default=None
    )
    found = [(source, 0.0, 1)] if source in nodes else []
    if longest is not None and nodes[longest].num_elements:
        found.append((longest, per_batch, threads))
    return found


def _value(parameter: Any) -> int:
    """What the running stage uses; for a fused map and batch the model's own value lags behind."""
    state = int(parameter.state_value) if parameter.tunable else 0
    return state or int(parameter.value)


def buffer_fill(model: Any) -> tuple[float, ...]:
    """How full the last prefetch buffer is (0 to 1); () where there is none.

    Nearly empty whenever one looks, the pipeline does not keep up; full, it waits for training.
    """
    key = model.output
    while key in model.nodes:
        node = model.nodes[key]
        size = {p.name: p.value for p in node.parameters}.get("buffer_size", 0)
        if node.name == "Prefetch" and size > 0:
            return (min(1.0, node.buffered_elements / size),)
        if node.name != "Root" or not node.inputs:
            break
        key = node.inputs[0]
    return ()
