"""That larger batches may gain much: where they hold few examples, or updates move much memory."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.records.figures import in_mib
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts

FEW = 32
"""Examples of a replica: no more than where nobody sets another number."""

MUCH_GB_PER_S = 4.0
"""An update that reads and writes so much is much of a step on a CPU.

Eleven models whose steps did, on two cores of a Xeon, trained 1.9 to 7.4 times as many examples a
second in batches of 512 as in batches of 64.
"""

BYTES = 4
IN_FLOAT32 = ("float32", "mixed_float16", "mixed_bfloat16")
"""Bytes of a parameter, and the policies under which it has so many."""

OF_A_PARAMETER, OF_WHAT_IS_KEPT = 3, 2
"""The gradient is read; a parameter, and what the optimizer keeps of it, is read and written."""


def small_batch_notes(run: Diagnosed) -> Iterator[str]:
    """Where computing is all that is left: what tells if larger batches pay.

    What it cannot see: how long a step of more examples takes, and what it does to learning.
    """
    settings, examples = run.facts.settings, run.facts.length.examples_per_step
    if run.verdict != "compute-bound" or settings.in_a_loop or run.facts.batch_sizes is not None:
        return
    alone = "" if settings.can_be_swept else ", of a model for one device"
    if updates := _updates(run):
        yield (
            f"{updates} Larger batches need fewer updates, and change what is learned: "
            f"keras_perf.sweep_batch_size(model, data) measures what they gain{alone}."
        )
    elif examples and examples / settings.replicas <= FEW:
        yield (
            f"A step holds {examples:.0f} examples. Where one with more takes hardly longer, "
            "larger batches make an epoch shorter, and change what is learned in it: "
            f"keras_perf.sweep_batch_size(model, data) measures the first{alone}."
        )


def _updates(run: Diagnosed) -> str:
    """What updates take, where that is much of a step on a CPU; else ""."""
    settings, moved = run.facts.settings, _moved_bytes(run.facts)
    on_tpu = "TPU" in (settings.strategy or "")
    little = moved < MUCH_GB_PER_S * 1e6 * run.situation.model.step_ms
    if run.situation.model.on_gpu or on_tpu or little:
        return ""
    told = (
        f"Each step's update by {settings.optimizer} reads and writes about "
        f"{in_mib(moved / 2**20)}, of {settings.trainable_parameters:,} parameters, however few "
        "examples it holds: much of what is computed."
    )
    if not (library_of(run.facts).updates_used_rows and _mostly_looked_up(run.facts)):
        return told
    return (
        f"{told} Most of them are multiplied with nothing, like an embedding's: SGD without "
        "momentum updates only the rows that a batch uses, as another training."
    )


def _moved_bytes(facts: RunFacts) -> float:
    """What an update reads and writes, at least; 0 where it is not known, or not of all of them."""
    settings = facts.settings
    kept, parameters = settings.optimizer_values, settings.trainable_parameters
    narrow = (settings.dtype_policy or "float32") not in IN_FLOAT32
    if not kept or not parameters or settings.own_train_step or narrow:
        return 0.0
    if kept < parameters and _mostly_looked_up(facts):
        return 0.0  # An optimizer that keeps nothing of a row updates those that a batch uses.
    return BYTES * (OF_A_PARAMETER * parameters + OF_WHAT_IS_KEPT * kept)


def _mostly_looked_up(facts: RunFacts) -> bool:
    """Most parameters are in no product that was counted, as those of an embedding are."""
    work, parameters = facts.step_work, facts.settings.trainable_parameters or 0
    if work is None or not work.product_bytes or work.passed_over:
        return False
    return work.product_bytes < BYTES * parameters
