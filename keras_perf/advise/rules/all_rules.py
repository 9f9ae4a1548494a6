"""All rules, in the order of their gain.

`Rule` says what each of them knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from keras_perf.advise.gains.prediction_bounds import uncertainty, widened
from keras_perf.advise.gains.refilling import naming_refills
from keras_perf.advise.recommendation import Recommendation, cost_ms
from keras_perf.advise.rules.as_tried import as_tried, put_together
from keras_perf.advise.rules.between_epochs.epochs import amortize_epoch_callback, rarer_validation
from keras_perf.advise.rules.between_epochs.predict_calls import call_the_model
from keras_perf.advise.rules.between_epochs.validation_batches import larger_validation_batches
from keras_perf.advise.rules.between_epochs.validation_input import faster_validation
from keras_perf.advise.rules.compute import disable_run_eagerly, stable_shapes
from keras_perf.advise.rules.garbage import tune_gc
from keras_perf.advise.rules.host import amortize_callback
from keras_perf.advise.rules.input.batching import batch_before_map
from keras_perf.advise.rules.input.caching import cache
from keras_perf.advise.rules.input.files_and_order import interleave, nondeterministic_order
from keras_perf.advise.rules.input.python_input import parallel_input
from keras_perf.advise.rules.input.shuffling import cheaper_shuffle
from keras_perf.advise.rules.input.threads_and_buffers import (
    parallel_map,
    prefetch,
    private_threadpool,
)
from keras_perf.advise.rules.on_a_gpu import (
    enable_xla,
    gpu_thread_mode,
    larger_batch,
    mixed_precision,
    multiples_of_8,
)
from keras_perf.advise.rules.rule import Followed, Rule
from keras_perf.advise.rules.steps_per_execution import raise_steps_per_execution
from keras_perf.advise.rules.workers import (
    balance_workers,
    fewer_exchanges,
    reduce_in_half_precision,
)
from keras_perf.advise.situation import Situation

WORTH_SAYING = 1.02
"""Below this predicted speed-up a recommendation is left out."""

LOSES_NOTHING = {"rarer-validation": ("faster-validation", "larger-validation-batches")}
"""Advice that loses information, and what is told before it because it loses none."""

RULES: tuple[Rule, ...] = (
    prefetch,
    parallel_map,
    parallel_input,
    private_threadpool,
    batch_before_map,
    interleave,
    nondeterministic_order,
    cache,
    cheaper_shuffle,
    amortize_callback,
    call_the_model,
    raise_steps_per_execution,
    tune_gc,
    faster_validation,
    larger_validation_batches,
    rarer_validation,
    amortize_epoch_callback,
    stable_shapes,
    disable_run_eagerly,
    enable_xla,
    mixed_precision,
    multiples_of_8,
    larger_batch,
    gpu_thread_mode,
    balance_workers,
    reduce_in_half_precision,
    fewer_exchanges,
)


FOLLOWED: Mapping[str, Followed] = {
    rule.id: rule.followed for rule in RULES if rule.followed is not None
}
"""Advice whose following a run shows, by id."""


def recommendations(situation: Situation) -> tuple[Recommendation, ...]:
    """All that is worth saying, best first.

    What buys nothing alone may buy much once another change is made: behind a slow input
    pipeline a slow callback costs nothing, until the pipeline is mended. So what is left is
    tried again with the others done, each time the best first.
    """
    advised = [advice for rule in RULES if (advice := rule(situation)) is not None]
    found = as_tried(situation, advised)
    chosen = sorted(
        (advice for advice in found if advice.predicted_speedup >= WORTH_SAYING),
        key=lambda advice: advice.change(situation.model, 0.0).whole_ms,
    )
    left = [advice for advice in found if advice not in chosen]
    model = situation.model
    for advice in chosen:
        model = advice.change(model, 0.0)
    while left:
        best = min(left, key=lambda advice: advice.change(model, 0.0).whole_ms)
        left.remove(best)
        changed = best.change(model, 0.0)
        gain = cost_ms(model, best.of) / cost_ms(changed, best.of)
        if gain < WORTH_SAYING:
            break
        model = changed
        chosen.append(replace(best, speedup_after_others=gain))
    by = uncertainty(situation)
    ordered = _without_loss_first([_with_wider_bounds(advice, by) for advice in chosen])
    return tuple(naming_refills(situation.summary, ordered))


def _without_loss_first(chosen: list[Recommendation]) -> list[Recommendation]:
    """What loses something stands behind what surely gains by the same part and loses nothing."""
    ids = [each.id for each in chosen]
    gaining = {each.id for each in chosen if each.low >= WORTH_SAYING}
    for losing, others in LOSES_NOTHING.items():
        place = max((ids.index(id) for id in others if id in gaining), default=-1)
        if losing in ids[:place]:
            late = chosen[ids.index(losing)]
            chosen = [*chosen[: place + 1], late, *chosen[place + 1 :]]
            chosen.remove(late)
    return chosen


def _with_wider_bounds(advice: Recommendation, by: float) -> Recommendation:
    bounds = advice.predicted_speedup, advice.low, advice.high
    _, low, high = bounds if advice.tried else widened(bounds, by)
    return replace(advice, low=low, high=high)


def combined_speedup(
    situation: Situation,
    advice: tuple[Recommendation, ...],
    of: Literal["step", "whole"] = "step",
) -> tuple[float, float, float]:
    """What all of it buys together: expected, low, high. Not the product of the single ones."""
    if not advice:
        return 1.0, 1.0, 1.0
    total, changes = put_together(situation, advice)
    if total is not None and len(changes) == 1 and of == "step":
        return total.gain, total.low, total.high
    model, results = situation.model, []
    for optimism in (0.0, -1.0, 1.0):
        changed = model
        for change in changes:
            changed = change(changed, optimism)
        results.append(max(1.0, cost_ms(model, of) / cost_ms(changed, of, optimism)))
    expected, *bounds = results
    together = expected, min(expected, *bounds), max(expected, *bounds)
    return widened(together, uncertainty(situation)) if together[2] > 1.0 else together
