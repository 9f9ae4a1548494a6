"""That steps of few examples may compute hardly longer for more of them."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed

FEW = 32
"""Examples of a replica: no more than where nobody sets another number."""


def small_batch_notes(run: Diagnosed) -> Iterator[str]:
    """Where computing is all that is left and batches are small: what tells if larger ones pay.

    What it cannot see: how long a step of more examples takes, and what it does to learning.
    """
    settings, examples = run.facts.settings, run.facts.length.examples_per_step
    if run.verdict != "compute-bound" or settings.in_a_loop or not examples:
        return
    if examples / settings.replicas <= FEW and run.facts.batch_sizes is None:
        yield (
            f"A step holds {examples:.0f} examples. Where one with more takes hardly longer, "
            "larger batches make an epoch shorter, and change what is learned in it: "
            "keras_perf.sweep_batch_size(model, data) measures the first."
        )
