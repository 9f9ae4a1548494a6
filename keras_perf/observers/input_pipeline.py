"""The stages of a running tf.data pipeline, read from its own model."""

from __future__ import annotations

from typing import Any, NamedTuple


class Stage(NamedTuple):
    """One node of the optimised pipeline.

    `elements_per_batch` is how many of this node's elements make one batch of the last node,
    `cost_ms` the processing time of the node itself per batch, over all its threads.
    """

    name: str
    cost_ms: float
    elements_per_batch: float
    parallelism: int
    buffer_size: int
    buffered: int
    ratio: float
    bytes_per_batch: float


def stages_from_model(model: Any) -> tuple[Stage, ...]:
    """Stages from the source to the last one.

    Arguments:
        model: a `tensorflow.data.model.ModelProto`, as from
            `tf.data.experimental.get_model_proto(iterator)`.

    Returns:
        () if the pipeline has let go of its first stages, as it does at the end of the data.

    What it cannot see: the user's own stages after tf.data fused or replaced them (map and
    batch become `MapAndBatch`), and anything behind a Python generator.
    """
    nodes = model.nodes
    stages: list[Stage] = []
    pending = [(model.output, 1.0)]
    batches = 0
    while pending:
        key, per_batch = pending.pop()
        if key not in nodes:
            continue
        node = nodes[key]
        made = max(1, node.num_elements)
        batches = batches or made
        # Downstream ratios tell how many elements make a batch. Where tf.data does not know
        # one (0, as for flat_map), what was produced so far has to do: it includes what lies
        # in buffers.
        per_batch = per_batch or made / batches
        parameters = {p.name: p for p in node.parameters}
        parallelism, buffer = parameters.get("parallelism"), parameters.get("buffer_size")
        if node.name != "Root":
            stages.append(
                Stage(
                    name=node.name,
                    cost_ms=node.processing_time / made * per_batch / 1e6,
                    elements_per_batch=per_batch,
                    parallelism=int(parallelism.value) if parallelism else 1,
                    buffer_size=int(buffer.value) if buffer else 0,
                    buffered=int(node.buffered_elements),
                    ratio=float(node.ratio),
                    bytes_per_batch=node.bytes_produced / made * per_batch,
                )
            )
        is_source = node.ratio == 0 or "Cache" in node.name
        if not node.inputs and not is_source:
            return ()
        pending.extend((k, per_batch * node.ratio) for k in reversed(node.inputs))
    return tuple(reversed(stages))
