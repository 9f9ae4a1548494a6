"""Advice on larger batches, where kernels leave most of a GPU idle."""

from __future__ import annotations

import math

from keras_perf.advise.as_written import batch_size, in_larger_batches
from keras_perf.advise.recommendation import Change, Recommendation, on_compute, predicted
from keras_perf.advise.rules.followed import trains_on_larger_batches
from keras_perf.advise.rules.on_a_gpu.training_gpu import in_kernels
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.analyse.hardware.gpu_busy import busiest, busy_share
from keras_perf.records.advice_ids import LARGER_BATCH
from keras_perf.records.figures import in_percent

MOSTLY_ACTIVE_PCT = 50.0
WAITS = 0.1
"""Share of a step; a GPU that waits longer for input and the host is idle for that."""

WAITED_FOR = ("callbacks", "other_host", "compile")
"""Parts of a step in which a GPU idles, beside the wait for input, whatever the batch."""


_ACTIVITIES = {"sm_active_pct": "SMs are active", "utilization_pct": "Any kernel runs"}
"""Sensors of a GPU, the one that tells more first, and what they say of it."""
RATE = "; the learning rate may have to follow"
_SWEEP = " keras_perf.sweep_batch_size measures other sizes."


def _activity(situation: Situation) -> tuple[str, float] | None:
    """Which sensor tells how active the GPUs that train are, and that of the most active one.

    Only Hopper and newer count their SMs. Of others it is known that a GPU idles where no kernel
    runs, and nothing where the wait for input is not known. None where it waits for input or for
    what the host does between calls, which says nothing of the batch, or was hardly watched.
    """
    summary = situation.summary
    for sensor in _ACTIVITIES:
        if (active := busiest(summary, sensor)) is not None:
            break
    else:
        return None
    not_known = math.inf if sensor == "utilization_pct" else 0.0
    wait_ms = summary.parts.get("input_wait", not_known)
    wait_ms += sum(summary.parts.get(part, 0.0) for part in WAITED_FOR)
    if wait_ms > WAITS * summary.step_ms:
        return None
    return sensor, active


def _twice_the_batch(situation: Situation) -> Change:
    """Of an example: two share the launching of kernels; those that fill the GPU take longer.

    At worst what is taken for launching is something that grows with the batch, as copies do.
    """
    busy, active = busy_share(situation.summary), busiest(situation.summary, "sm_active_pct")
    if not busy:
        return on_compute(1.0, 0.7, 0.5)
    full = 1.0 if active is None else min(1.0, active / 100 / busy)
    return on_compute(1.0, 0.5 + 0.5 * full * in_kernels(situation), 0.5)


@rule(
    LARGER_BATCH,
    tried_title="Train on larger batches",
    followed=trains_on_larger_batches,
)
def larger_batch(situation: Situation) -> Recommendation | None:
    """Kernels leave most of the GPU idle and memory is free; an exchange has a rule of its own."""
    found, batch = _activity(situation), situation.summary.examples_per_step
    facts, free = situation.facts, situation.facts.gpu.memory_free
    if situation.facts.training_gpu is None or found is None or free is None or not batch:
        return None
    sensor, active = found
    if active > MOSTLY_ACTIVE_PCT or free < 0.5 or situation.model.rest.get("wire"):
        return None
    twice = 2 * (batch_size(facts) or round(batch / max(1.0, facts.settings.fetches_per_step)))
    rate = "" if facts.settings.batches_per_update % 2 == 0 else RATE
    return predicted(
        situation.model,
        _twice_the_batch(situation),
        title=f"Double the batch to {twice}",
        reason=(
            f"{_ACTIVITIES[sensor]} for {in_percent(active / 100)} of the time and "
            f"{in_percent(free)} of the memory was never used. The speed-up is per example{rate}."
            f"{_SWEEP if facts.settings.can_be_swept else ''}"
        ),
        action=in_larger_batches(twice, 2, facts),
        evidence={sensor: active, "memory_free_share": free, "batch": batch},
    )
