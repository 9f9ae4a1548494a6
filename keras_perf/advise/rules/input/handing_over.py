"""What it takes that a batch goes from the process that made it to the one that trains."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel, between

HANDED_OVER_MS, A_MIB_MS = 0.8, 4.5
"""CPU time, in both processes, of a batch that goes from one to the other: of one of a few KiB, and
for each MiB of it; at worst twice that. See `benchmarks/making_batches.py`."""

UNKNOWN_MIB = 1.0
"""At worst a batch of unknown size has as much."""


def handed_over_ms(situation: Situation, optimism: float) -> float:
    """CPU time of a step's batch; none of it at best."""
    mib = situation.facts.input.mib_per_batch
    if mib is None:
        mib = UNKNOWN_MIB * max(0.0, -optimism)
    return (HANDED_OVER_MS + A_MIB_MS * mib) * (1 - optimism)


def handed_beside_computing(
    situation: Situation, before: StepModel, after: StepModel, optimism: float
) -> StepModel:
    """What came while training waited for its batch comes while it computes.

    Computing waits for the interpreter and the cores meanwhile: at worst for all that is handed
    over in the time that was waited, as it lies evenly is expected. (Two processes that slept 6 ms
    for a batch, beside steps of 3.0 to 3.1 ms that waited 0.8 to 1.2 ms of it: with four of them
    nothing was waited for, and steps took 2.8 to 3.2 ms.)

    Arguments:
        situation: as it was measured.
        before: with processes that training waits for.
        after: with processes that make batches sooner.
        optimism: from −1 to +1.
    """
    sooner_ms = (before.step_ms - before.rest_ms) - (after.step_ms - after.rest_ms)
    if before.on_gpu or sooner_ms <= 0:
        return after
    most_ms = min(sooner_ms, handed_over_ms(situation, -1.0))
    evenly_ms = min(most_ms, handed_over_ms(situation, 0.0) * sooner_ms / before.step_ms)
    computing_ms = after.rest.get("compute", 0.0) + between(most_ms, evenly_ms, 0.0, optimism)
    return replace(after, rest={**after.rest, "compute": computing_ms})
