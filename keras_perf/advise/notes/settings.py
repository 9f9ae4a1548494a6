"""What a look at the settings shows, where nothing was measured."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed


def settings_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence for each setting that is worth a second look."""
    facts = run.facts
    cores = facts.machine.cpu_count or 0
    for pool, threads in facts.machine.threads.items():
        # 0 lets TensorFlow choose.
        if threads and threads != cores:
            name = pool.replace("_", "-")
            yield (
                f"TensorFlow's {name} thread pool is set to {threads} on {cores} logical CPUs "
                f"(tf.config.threading.set_{pool}_parallelism_threads); 0 lets it choose."
            )
    if facts.settings.float16_softmax:
        yield (
            "The last layer computes its softmax in float16, where small probabilities become 0: "
            'give it dtype="float32".'
        )
    replicas = facts.settings.replicas
    if replicas > 1 and facts.input.stages:
        yield (
            f"With {replicas} replicas tf.data shows only the stage that feeds them, not the "
            "stages of your own pipeline; input wait is measured at this process's first replica."
        )
    elif facts.input.hidden and facts.input.feeds_devices:
        yield (
            f"Under {facts.settings.strategy} tf.data shows only the stage that feeds its device: "
            "a training without it shows those of your own pipeline."
        )
    elif facts.input.hidden:
        yield (
            "tf.data shows only the stage that hands batches to the device (prefetch_to_device): "
            "a training without it shows those of your own pipeline."
        )
    if unknown := facts.not_known:
        failed = ", ".join(f"{name} ({why})" for name, why in unknown.items())
        yield f"Unknown, so advice that needs it is missing: {failed}."
