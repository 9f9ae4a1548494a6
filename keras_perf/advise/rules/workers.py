"""Advice on several workers, and on the gradients that they exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from keras_perf.advise.as_written import as_many_examples, in_larger_batches
from keras_perf.advise.recommendation import Recommendation, predicted
from keras_perf.advise.rules.followed import CLEARLY_LESS, exchanges_less
from keras_perf.advise.rules.in_a_loop import in_template
from keras_perf.advise.rules.on_a_gpu.larger_batch import larger_batch
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.analyse.ring_time import ring_ms
from keras_perf.analyse.summary import Summary
from keras_perf.analyse.worker import Worker
from keras_perf.records.advice_ids import BALANCE_WORKERS, REDUCE_IN_HALF_PRECISION
from keras_perf.records.figures import in_bytes, in_ms, in_percent
from keras_perf.records.run_names import worker_run

ENOUGH_INTERVALS = 4
"""Fewer of them do not show whether it is always the same worker that is slow."""

MOSTLY = 2 / 3
"""The slowest worker is slow by itself, not by chance, if it is so in this share of the steps."""

BYTES_OF_FLOAT32 = 4

SLOWEST_GBIT = 1.0
"""No wire is slower: what an exchange takes beyond what a ring needs on this one does not depend
on the number of bytes."""

FLOAT16_DRIFT = "8e-4"
"""Of the weight that differs most after 20 steps of Adam at a rate of 0.01, as tests found it."""

LARGER = 4
"""Batches are advised to be so many times as large."""


def _balanced(summary: Summary, advice: Recommendation) -> bool | None:
    """Workers wait clearly less for the slowest; not known where nothing tells of several."""
    if "skew" not in summary.exchange or len(summary.intervals) < ENOUGH_INTERVALS:
        return None
    return summary.exchange["skew"] < CLEARLY_LESS * float(advice.evidence["skew_ms"])


@rule(BALANCE_WORKERS, takes_less=_balanced)
def balance_workers(situation: Situation) -> Recommendation | None:
    """One worker is always the last, and the others wait for it."""
    summary, model = situation.summary, situation.model
    recorded = summary.facts.exchange
    if "skew" not in summary.intervals or recorded is None or recorded.steadily_ms is None:
        return None
    known = summary.intervals.dropna(subset=["skew"])
    if len(known) < ENOUGH_INTERVALS:
        return None
    slowest = recorded.slowest_worker or 0
    named = float(known["steps"][known["slowest_worker"] == slowest].sum() / known["steps"].sum())
    skew = summary.exchange["skew"]
    steadily = min(recorded.steadily_ms, skew)
    spread = float(np.std(known["skew"]))
    if named < MOSTLY or steadily <= spread:
        return None
    error = spread / float(np.sqrt(len(known)))
    count = recorded.workers
    as_the_others = skew * count / (count - 1)

    def change(model: StepModel, optimism: float) -> StepModel:
        gone = steadily + (as_the_others - steadily if optimism > 0 else error) * optimism
        return _shorter(model, max(0.0, gone))

    part, why = _what_slows(slowest, summary.workers)
    return predicted(
        model,
        change,
        title=f"Balance the workers: worker {slowest} is the slowest",
        reason=(
            f"Worker {slowest} is the last in {in_percent(named)} of the steps, and the mean "
            f"worker waits {in_ms(skew)} of each step of {in_ms(summary.step_ms)} for the "
            f"slowest. {why} Work that is shared evenly gains {in_ms(steadily)}; a worker as fast "
            f"as the others gains {in_ms(as_the_others)}."
        ),
        action=f"keras-perf report LOGDIR/{worker_run(slowest)}  # what its steps wait for",
        evidence={
            "slowest_worker": slowest,
            "slow_part": part,
            "skew_ms": skew,
            "steadily_ms": steadily,
            "share_of_steps": named,
        },
    )


def _shorter(model: StepModel, gone_ms: float) -> StepModel:
    """The step by so much shorter: by the waiting for others first, then by everything alike."""
    waits = model.rest.get("peer_wait", 0.0)
    waited = min(waits, gone_ms)
    if waited:
        model = model.with_rest({"peer_wait": 1 - waited / waits})
    left = gone_ms - waited
    if left <= 0:
        return model
    factor = max(0.0, 1 - left / model.step_ms)
    return replace(
        model,
        stages={name: ms * factor for name, ms in model.stages.items()},
        rest={name: ms * factor for name, ms in model.rest.items()},
        cpu_ms=model.cpu_ms * factor,
    )


def _what_slows(slowest: int, workers: Sequence[Worker]) -> tuple[str | None, str]:
    """Which part of the slowest worker's step is longer than the others', and a sentence."""
    own = next((each for each in workers if each.number == slowest), None)
    others = [each for each in workers if each.number != slowest]
    if own is None or not others:
        return None, "Its own run, which would say why, is not in this directory."
    usual = {part: fmean(each.busy_with[part] for each in others) for part in own.busy_with}
    part = max(usual, key=lambda name: own.busy_with[name] - usual[name])
    if own.busy_with[part] <= usual[part]:
        return None, "Its own run does not say why."
    causes = {
        "input wait": "its disk, its network, the share of files that it was given",
        "compute": "its processor, other programs on its machine, larger examples",
        "host": "what it alone does between steps: writing, logging, evaluating",
    }
    return part, (
        f"It takes longer in {part}: {in_ms(own.busy_with[part])} of each step, "
        f"{in_ms(usual[part])} on the others. Look at {causes[part]}."
    )


@rule(REDUCE_IN_HALF_PRECISION, followed=exchanges_less)
def reduce_in_half_precision(situation: Situation) -> Recommendation | None:
    """Gradients are exchanged in float32."""
    recorded, values = situation.facts.exchange, situation.facts.settings.trainable_parameters
    if recorded is None or not values or not situation.model.rest.get("wire"):
        return None
    size = recorded.bytes_per_step
    wire_ms = situation.summary.wire_ms
    if size < 0.9 * BYTES_OF_FLOAT32 * values:
        return None

    # What an exchange costs once, however small, stays.
    by_size = min(1.0, ring_ms(size, recorded.workers, SLOWEST_GBIT) / wire_ms)

    def change(model: StepModel, optimism: float) -> StepModel:
        saved = 0.4 + (0.1 if optimism > 0 else 0.3) * optimism
        return model.with_rest({"wire": 1 - saved * by_size})

    return predicted(
        situation.model,
        change,
        title="Exchange gradients in 16 bits",
        reason=(
            f"Exchanging {in_bytes(size)} of float32 takes {in_ms(wire_ms)} of each step of "
            f"{in_ms(situation.summary.step_ms)}. At best 16 bits halve the part that depends "
            f"on size, {in_percent(by_size)} of it at most; the weights then "
            f"differ a little from those of float32 ({FLOAT16_DRIFT} after 20 steps of Adam)."
        ),
        action=in_template(
            situation.summary,
            "--reduce-dtype float16",
            elsewhere='loop.GradientUpdate(..., dtype="float16")  # with a LossScaleOptimizer',
        ),
        evidence={"wire_ms": wire_ms, "bytes_per_step": size},
    )


@larger_batch.also
def fewer_exchanges(situation: Situation) -> Recommendation | None:
    """Gradients are exchanged after every batch, and that takes a noticeable part of the step."""
    summary = situation.summary
    if not situation.model.rest.get("wire"):
        return None
    batch, free = summary.examples_per_step, summary.facts.gpu.memory_free
    if free is not None and free < 1 - 1 / LARGER and not summary.facts.settings.in_a_loop:
        return None
    larger = f"{LARGER} times as large" if batch is None else f"of {LARGER * batch:.0f} examples"
    number: int | str = "..." if batch is None else round(LARGER * batch)
    room, action = _room_for_it(number, summary)
    gathers = summary.facts.settings.batches_per_update % LARGER == 0
    rate = "" if gathers else " The learning rate may have to follow."

    def change(model: StepModel, optimism: float) -> StepModel:
        return model.with_rest({"wire": 1 / LARGER + 0.1 * max(0.0, -optimism)})

    return predicted(
        situation.model,
        change,
        title=f"Exchange gradients once for a batch {larger}",
        reason=(
            f"The exchange takes {in_ms(summary.wire_ms)} of each step of {in_ms(summary.step_ms)}"
            f", however large the batch. The speed-up is per example. {room}{rate}"
        ),
        action=action,
        evidence={"wire_ms": summary.wire_ms, "batch": batch, "times_as_large": LARGER},
    )


def _room_for_it(batch: int | str, summary: Summary) -> tuple[str, str]:
    """What the larger batch needs, and the code for it."""
    if summary.facts.settings.in_a_loop:
        return (
            f"In {LARGER} parts, one after the other, the larger batch needs no more memory.",
            in_template(
                summary,
                f"--batch-size {batch} --accumulate {LARGER}",
                elsewhere=f"loop.accumulate(gradients, batch, {LARGER})  # a batch of {batch}",
            )
            + f"\n{as_many_examples(LARGER, summary.facts)}",
        )
    return (
        "Every replica needs the memory for its share.",
        in_larger_batches(batch, LARGER, summary.facts, whole=True),
    )
