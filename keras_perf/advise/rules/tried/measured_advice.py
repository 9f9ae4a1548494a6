"""Advice that was tried: what was measured stands in place of what would be predicted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from keras_perf.advise.as_written import whole_executions
from keras_perf.advise.gains.capped import within_a_ready_batch
from keras_perf.advise.gains.of_a_part import gain_on_a_ready_batch
from keras_perf.advise.recommendation import Change, Recommendation, gaining_with
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.steps_per_execution import besides
from keras_perf.advise.rules.tried.first_pass import over_all_passes, with_first_pass
from keras_perf.advise.rules.tried.left_out import done_less_often
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import StepModel, between
from keras_perf.records.advice_ids import (
    AMORTIZE_CALLBACK,
    DISABLE_XLA,
    RAISE_STEPS_PER_EXECUTION,
    STABLE_SHAPES,
)
from keras_perf.records.figures import in_ms
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.tried.advice_trials import (
    WORTHWHILE,
    AdviceTrials,
    NotTried,
    TriedChange,
)

FREE = 1.1
"""Input costs nothing more if a step takes at most so many times as long as on a ready batch."""


def as_tried(situation: Situation, found: Sequence[Recommendation]) -> list[Recommendation]:
    """Those that trials speak for, and those that were not tried.

    What was tried and did not pay goes; what pays and no rule has thought of comes. Only what was
    put together is advised, for that was measured twice: what else paid alone waits for the next
    run. What alters training, or needs another process, is no part of what all of it buys together.

    Arguments:
        situation: of a run, with its trials or without.
        found: what rules advise, from the model.
    """
    trials = situation.facts.advice_trials
    if trials is None:
        return list(found)
    alone, on_top = best_of_each(trials.changes), best_of_each(trials.together)
    unfinished = bool(trials.stopped) and not on_top
    in_vain = {each.id for each in trials.not_tried if _gains_nothing_on_top(each)}
    kept: list[Recommendation] = []
    advised = {each.id: each for each in found}
    for id in dict.fromkeys([*advised, *alone, *on_top]):
        if known_of(id).on == "compiling" and id in advised:
            # Trials run compiled steps: of what compiles the rule predicts, from what they tell.
            kept.append(advised[id])
            continue
        if id == DISABLE_XLA and STABLE_SHAPES in advised:
            # That trial is one of the two ways which this advice weighs.
            continue
        if id == AMORTIZE_CALLBACK:
            # Without a callback its work is missing: that trial tells what doing it less saves.
            for advice in (each for each in found if each.id == id):
                kept += done_less_often(advice, trials, situation.facts.hooks)
            continue
        carrier = trials.carrier
        if carrier is not None and id != carrier.id:
            carrier = None
        paid = carrier or _that_paid(alone.get(id), on_top.get(id))
        if id not in alone and id not in on_top:
            free = known_of(id).on == "input" and _input_is_free(trials)
            if id not in in_vain and not free:
                kept.append(_no_more_than_on_a_ready_batch(advised[id], situation))
        elif paid is not None and (paid.stands_alone or id in on_top or unfinished):
            cached, last = known_of(id).keeps, on_top.get(id, paid)
            trained = over_all_passes(paid, situation, cached=cached)
            advice = with_first_pass(
                _in_place_of(advised.get(id), trained, situation), paid, situation
            )
            if carrier is not None:
                advice = gaining_with(advice, ", ".join(each.id for each in trials.together[1:]))
            last = over_all_passes(last, situation, cached=cached)
            kept.append(replace(advice, change=_as_measured(last, trials)))
    return kept


def _no_more_than_on_a_ready_batch(advice: Recommendation, situation: Situation) -> Recommendation:
    """Input that is only predicted gains at most what a step gained whose batch was ready."""
    most = gain_on_a_ready_batch(situation)
    on_it = known_of(advice.id).on == "input"
    if most is None or not on_it:
        return advice
    most = max(1.0, most)
    return replace(
        advice,
        predicted_speedup=min(advice.predicted_speedup, most),
        low=min(advice.low, most),
        high=min(advice.high, most),
        change=within_a_ready_batch(advice.change, most),
    )


def _gains_nothing_on_top(left: NotTried) -> bool:
    return isinstance(left.why, Reason) and left.why.word == WhyNotTried.NOT_ON_TOP.word


def _that_paid(alone: TriedChange | None, on_top: TriedChange | None) -> TriedChange | None:
    """The trial that speaks for a change: alone, or else on top of others."""
    for each in (alone, on_top):
        if each is not None and each.low >= WORTHWHILE:
            return each
    return None


def _input_is_free(trials: AdviceTrials) -> bool:
    """What was put together keeps the input's work, or makes it as quick as a ready batch."""
    return any(_frees_input(each, trials) for each in trials.together)


def _frees_input(tried: TriedChange, trials: AdviceTrials) -> bool:
    free_ms = FREE * (trials.ready_ms or 0.0)
    return known_of(tried.id).keeps or (_is_of_input(tried) and tried.after_ms <= free_ms)


def _is_of_input(tried: TriedChange) -> bool:
    """It makes nothing quicker but the input."""
    return known_of(tried.id).on == "input"


def best_of_each(trials: Iterable[TriedChange]) -> dict[str, TriedChange]:
    """Id → the trial of that kind that gained most."""
    best: dict[str, TriedChange] = {}
    for tried in trials:
        if tried.id not in best or tried.gain > best[tried.id].gain:
            best[tried.id] = tried
    return best


def put_together(
    situation: Situation, advice: Sequence[Recommendation]
) -> tuple[TriedChange | None, list[Change]]:
    """What was measured of all that was put together, if all of it is advised; and all changes.

    The changes are those of the advice in the order in which they are to be made, what was measured
    first, and as one where that was measured.
    """
    trials = situation.facts.advice_trials
    measured = [each.change for each in advice if each.tried]
    predicted = [each.change for each in advice if not each.tried]
    together = set() if trials is None else {each.id for each in trials.together}
    if trials is None or trials.total is None or not together <= {each.id for each in advice}:
        return None, [*measured, *predicted]
    by_input, none_left = all(map(_is_of_input, trials.together)), _input_is_free(trials)
    total = over_all_passes(
        trials.total, situation, cached=any(known_of(id).keeps for id in together)
    )
    all_as_one = _gaining(total, by_input=by_input, none_left=none_left)
    return total, [all_as_one, *predicted]


def _in_place_of(
    advice: Recommendation | None, tried: TriedChange, situation: Situation
) -> Recommendation:
    """What was tried, as it was tried; on top of others it has no gain alone.

    Arguments:
        advice: of a rule, if one has thought of it.
        tried: what was measured.
        situation: of the run.
    """
    evidence: dict[str, Any] = {"tried_step_ms": [tried.before_ms, tried.after_ms]}
    if tried.number is not None:
        evidence["advised"] = tried.number
    on_top = f", on top of {', '.join(tried.after)}" if tried.after else ""
    reason = (
        f"Tried on this training ({tried.where}{on_top}): a step took {_before_and_after(tried)}."
    )
    reason += f" Its cost: {tried.costs}." if tried.costs else ""
    # Of another number of steps than the rule's it says otherwise what goes with it.
    another = tried.id == RAISE_STEPS_PER_EXECUTION and (
        advice is None or advice.evidence.get("advised") != tried.number
    )
    if another and tried.number is not None:
        length = situation.facts.length
        steps = length.epoch_steps if length.ends_by_steps else None
        reason += whole_executions(situation.facts, steps, tried.number)
        reason += besides(situation, tried.number)
    reason += f" It alters training: {tried.alters}." if tried.alters else ""
    reason += " It was measured by itself, and is in no total." if tried.stands_alone else ""
    if advice is not None:
        evidence = {
            **advice.evidence,
            **evidence,
            "predicted_by_model": advice.predicted_speedup,
        }
        reason = reason if another else f"{advice.reason} {reason}"
    gain, low, high = (1.0, 1.0, 1.0) if tried.after else (tried.gain, tried.low, tried.high)
    return Recommendation(
        tried.id,
        known_of(tried.id).tried_title or tried.id,
        reason,
        tried.code,
        max(1.0, gain),
        max(1.0, low),
        max(1.0, high),
        evidence,
        tried=True,
        alone=tried.stands_alone,
    )


def _before_and_after(tried: TriedChange) -> str:
    before, after = f"{in_ms(tried.before_ms)}", f"{in_ms(tried.after_ms)}"
    if what := known_of(tried.id).gives_up:
        return f"{before} with {what} and {after} without, so that it costs more than it gives"
    return f"{before} without and {after} with it"


def _as_measured(tried: TriedChange, trials: AdviceTrials) -> Change:
    if tried.stands_alone:
        return lambda model, _: model
    none_left = _frees_input(tried, trials)
    return _gaining(tried, by_input=_is_of_input(tried), none_left=none_left)


def _gaining(tried: TriedChange, *, by_input: bool, none_left: bool) -> Change:
    def change(model: StepModel, optimism: float) -> StepModel:
        gain = max(1.0, between(tried.low, tried.gain, tried.high, optimism))
        return model.faster(gain, by_input=by_input, none_left=none_left)

    return change
