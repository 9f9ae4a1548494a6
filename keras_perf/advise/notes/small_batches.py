"""That larger batches may gain much: where they hold few examples, or updates move much memory."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.figures import in_mib
from keras_perf.records.run.run_facts import RunFacts

FEW = 32
"""Examples of a replica: no more than where nobody sets another number."""

MUCH_GB_PER_S = 4.0
"""An update that reads and writes so much is much of a step on a CPU.

Eleven models whose steps did, on two cores of a Xeon, trained 1.9 to 7.4 times as many examples a
second in batches of 512 as in batches of 64.
"""

BYTES = 4
"""Of a parameter, which is float32 under a mixed policy, too."""

OF_A_PARAMETER, OF_WHAT_IS_KEPT = 3, 2
"""The gradient is read; a parameter, and what the optimizer keeps of it, is read and written."""


def small_batch_notes(run: Diagnosed) -> Iterator[str]:
    """Where computing is all that is left: what tells if larger batches pay.

    What it cannot see: how long a step of more examples takes, and what it does to learning.
    """
    settings, examples = run.facts.settings, run.facts.length.examples_per_step
    if run.verdict != "compute-bound" or settings.in_a_loop or run.facts.batch_sizes is not None:
        return
    if updates := _updates(run):
        yield (
            f"{updates} Larger batches need fewer updates, and change what is learned: "
            "keras_perf.sweep_batch_size(model, data) measures what they gain."
        )
    elif examples and examples / settings.replicas <= FEW:
        yield (
            f"A step holds {examples:.0f} examples. Where one with more takes hardly longer, "
            "larger batches make an epoch shorter, and change what is learned in it: "
            "keras_perf.sweep_batch_size(model, data) measures the first."
        )


def _updates(run: Diagnosed) -> str:
    """What updates take, where that is much of a step on a CPU; else ""."""
    settings, moved = run.facts.settings, _moved_bytes(run.facts)
    if run.situation.model.on_gpu or moved < MUCH_GB_PER_S * 1e6 * run.situation.model.step_ms:
        return ""
    told = (
        f"Each step's update by {settings.optimizer} reads and writes about "
        f"{in_mib(moved / 2**20)}, of {settings.trainable_parameters:,} parameters, however few "
        "examples it holds: much of what is computed."
    )
    work = run.facts.step_work
    if work is None or not work.product_bytes or not settings.trainable_parameters:
        return told
    if work.product_bytes > BYTES * settings.trainable_parameters:
        return told
    return (
        f"{told} Most of them are multiplied with nothing, like an embedding's: SGD without "
        "momentum updates only the rows that a batch uses, as another training."
    )


def _moved_bytes(facts: RunFacts) -> float:
    """What an update reads and writes, at least; 0 where it is not known."""
    settings = facts.settings
    kept, parameters = settings.optimizer_values, settings.trainable_parameters
    if kept is None or parameters is None:
        return 0.0
    return BYTES * (OF_A_PARAMETER * parameters + OF_WHAT_IS_KEPT * kept)
