"""All advice, the best first, and what it buys together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Literal

from keras_perf.advise.gains.of_a_part import WORTHWHILE
from keras_perf.advise.gains.of_two_parts import held_by_two
from keras_perf.advise.gains.prediction_bounds import uncertainty, widened
from keras_perf.advise.gains.refilling import naming_refills
from keras_perf.advise.recommendation import Recommendation, cost_ms, gaining_with
from keras_perf.advise.rules.all_rules import RULES, known_of
from keras_perf.advise.rules.tried.measured_advice import as_tried, put_together
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel
from keras_perf.records.advice_ids import (
    AMORTIZE_CALLBACK,
    BATCH_BEFORE_MAP,
    CACHE,
    CALL_THE_MODEL,
    MODEL_AT_EPOCH_END,
    RAISE_STEPS_PER_EXECUTION,
)

WORTH_SAYING = 1.02
"""Below this predicted speed-up a recommendation is left out."""

DONE_OTHERWISE = (CALL_THE_MODEL, MODEL_AT_EPOCH_END)
"""Advice to do a hook's work in another way."""

UNCERTAIN = " It may also gain nothing: compare before and after."
"""Of advice whose interval begins where nothing is gained."""


def recommendations(situation: Situation) -> tuple[Recommendation, ...]:
    """All that is worth saying, best first.

    What buys nothing alone may buy much once another change is made: behind a slow input
    pipeline a slow callback costs nothing, until the pipeline is mended. So what is left is
    tried again with the others done, each time the best first. Where an input and a callback take
    as long as each other, neither buys anything alone, and both together do.
    """
    advised = [advice for rule in RULES if (advice := rule(situation)) is not None]
    found = _once_of_each_hook(as_tried(situation, advised))
    chosen = sorted(
        (advice for advice in found if _pays(advice, situation.model)),
        key=lambda advice: advice.change(situation.model, 0.0).whole_ms,
    )
    model = situation.model
    trials = situation.facts.advice_trials
    carrier = None if trials is None else trials.carrier
    if carrier is not None:
        chosen += [each for each in found if each.id == carrier.id and each not in chosen]
    elif held_by_two(situation) and all(advice.of != "step" for advice in chosen):
        chosen += _first_of_two(found, model)
    said = {(advice.id, advice.of) for advice in chosen}
    # What makes a step faster and the whole training longer alone does so later, too.
    left = [
        advice
        for advice in found
        if (advice.id, advice.of) not in said and not _worth_saying(advice)
    ]
    for advice in chosen:
        model = advice.change(model, 0.0)
    while left:
        best = min(left, key=lambda advice: advice.change(model, 0.0).whole_ms)
        left.remove(best)
        changed = best.change(model, 0.0)
        gain = cost_ms(model, best.of) / cost_ms(changed, best.of)
        if gain >= WORTH_SAYING and not _longer(model, changed):
            model = changed
            chosen.append(replace(best, speedup_after_others=gain))
    by = uncertainty(situation)
    told = _in_longer_calls(_once_of_each_map(chosen))
    ordered = _without_loss_first([_with_wider_bounds(advice, by) for advice in told])
    return tuple(naming_refills(situation.summary, ordered))


def _once_of_each_hook(advised: Sequence[Recommendation]) -> list[Recommendation]:
    """A hook is to do it in another way, or more rarely where that gains far more: not both."""
    left = list(advised)
    for direct in [each for each in advised if each.id in DONE_OTHERWISE]:
        hooks, of = direct.evidence.get("hooks") or [direct.evidence["owner"]], direct.of
        for rarer in [each for each in left if each.id == AMORTIZE_CALLBACK and each.of == of]:
            if rarer.evidence["owner"] in hooks:
                only_rarer = _worth_saying(rarer) and not _worth_saying(direct)
                far_more = _gone(direct) < _gone(rarer) / 2
                left.remove(direct if only_rarer or far_more else rarer)
    return left


def _once_of_each_map(advised: Sequence[Recommendation]) -> list[Recommendation]:
    """What a cache in front of the shuffle keeps is not to be called behind it, with batches."""
    caches = [each for each in advised if each.id == CACHE]
    kept = {stage for each in caches for stage in each.evidence.get("stages", ())}

    def is_kept(each: Recommendation) -> bool:
        return each.id == BATCH_BEFORE_MAP and each.evidence.get("stage") in kept

    return [each for each in advised if each.tried or not is_kept(each)]


def _in_longer_calls(advised: Sequence[Recommendation]) -> list[Recommendation]:
    """Code that counts calls of a hook names their number once each is of more steps."""
    numbers = (e.evidence.get("advised") for e in advised if e.id == RAISE_STEPS_PER_EXECUTION)
    steps = next(numbers, None)

    def told(each: Recommendation) -> Recommendation:
        if steps is None or each.id != AMORTIZE_CALLBACK or "calls" not in each.evidence:
            return each
        calls = each.evidence["advised"] // steps
        then = f"in one of {calls} calls" if calls > 1 else "in each call"
        return replace(each, action=f"{each.action}\n# {then} once steps_per_execution is {steps}")

    return [told(each) for each in advised]


def _gone(advice: Recommendation) -> float:
    """The share of the time that it takes away."""
    return 1 - 1 / advice.predicted_speedup


def _pays(advice: Recommendation, model: StepModel) -> bool:
    """It is worth saying, and the whole training is no longer than without."""
    return _worth_saying(advice) and not _longer(model, advice.change(model, 0.0))


def _worth_saying(advice: Recommendation) -> bool:
    return advice.predicted_speedup >= WORTH_SAYING


def _longer(model: StepModel, changed: StepModel) -> bool:
    """The whole training takes longer, with its start-up."""
    return cost_ms(changed, "whole") > cost_ms(model, "whole")


def _first_of_two(advised: Sequence[Recommendation], model: StepModel) -> list[Recommendation]:
    """The first of two changes of a step that gain together what neither gains alone; or none."""

    def after(*changes: Recommendation) -> StepModel:
        changed = model
        for each in changes:
            changed = each.change(changed, 0.0)
        return changed

    def left_ms(*changes: Recommendation) -> float:
        return after(*changes).step_ms

    of_a_step = [each for each in advised if each.of == "step"]
    if len(of_a_step) < 2:
        return []
    first, second = min(permutations(of_a_step, 2), key=lambda pair: left_ms(*pair))
    alone_ms = left_ms(first) + left_ms(second) - model.step_ms
    if left_ms(first, second) * WORTHWHILE > min(alone_ms, model.step_ms):
        return []
    if _longer(model, after(first, second)):
        return []
    pays = min(first, second, key=left_ms)
    other = second if pays is first else first
    return [gaining_with(pays, other.id)]


def _without_loss_first(chosen: list[Recommendation]) -> list[Recommendation]:
    """What loses something stands behind what surely gains by the same part and loses nothing."""
    for late in [each for each in chosen if known_of(each.id).loses]:
        place = max((n for n, each in enumerate(chosen) if _loses_nothing(each, late)), default=-1)
        if late in chosen[:place]:
            chosen = [*chosen[: place + 1], late, *chosen[place + 1 :]]
            chosen.remove(late)
    return chosen


def _loses_nothing(advice: Recommendation, beside: Recommendation) -> bool:
    """It surely gains, by the same part as other advice, and loses nothing."""
    known, part = known_of(advice.id), known_of(beside.id).on
    return advice.low >= WORTH_SAYING and known.on == part and not known.loses


def _with_wider_bounds(advice: Recommendation, by: float) -> Recommendation:
    bounds = advice.predicted_speedup, advice.low, advice.high
    _, low, high = bounds if advice.tried else widened(bounds, by)
    alone = advice.predicted_speedup >= WORTH_SAYING and advice.speedup_after_others is None
    uncertain = low <= 1.0 and not advice.tried and alone
    reason = f"{advice.reason}{UNCERTAIN}" if uncertain else advice.reason
    return replace(advice, low=low, high=high, reason=reason)


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
