"""What a look at the settings shows, where nothing was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def settings_notes(context: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each setting that is worth a second look.

    Arguments:
        context: a run's context record.
    """
    cores = int(context.get("cpu_count") or 0)
    for pool, threads in (context.get("threads") or {}).items():
        # 0 lets TensorFlow choose.
        if threads and threads != cores:
            name = pool.replace("_", "-")
            yield (
                f"TensorFlow's {name} thread pool is set to {threads} on {cores} logical CPUs "
                f"(tf.config.threading.set_{pool}_parallelism_threads); 0 lets it choose."
            )
    if context.get("float16_softmax"):
        yield (
            "The last layer computes its softmax in float16, where small probabilities become 0: "
            'give it dtype="float32".'
        )
    replicas = int(context.get("replicas") or 1)
    if replicas > 1 and context.get("stages"):
        yield (
            f"With {replicas} replicas tf.data shows only the stage that feeds them, not the "
            "stages of your own pipeline; the input wait is that of this process's first replica."
        )
    if unknown := context.get("not_known"):
        failed = ", ".join(f"{name} ({why})" for name, why in unknown.items())
        yield f"Could not be asked, and is missing wherever it would matter: {failed}."
