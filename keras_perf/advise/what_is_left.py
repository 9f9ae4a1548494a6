"""Why advice gains less than a verdict's part would if it were gone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from keras_perf.advise.gains.of_a_part import (
    WORTHWHILE,
    bound_between_epochs,
    gain_on_a_ready_batch,
    gains,
)
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_ms

MUCH_LESS = 0.8
"""An advice that gains less than this share of the verdict's figure is told with its reason."""

ON = {"input-bound": "input", "callback-bound": "callbacks", "dispatch-bound": "dispatch"}
"""Verdict → the part that its advice is on."""


def what_is_left(situation: Situation, verdict: str, advice: Sequence[Recommendation]) -> str:
    """A sentence where the verdict's figure and its best advice differ much; "" elsewhere."""
    if verdict == "compute-bound":
        return _beside_computing(advice)
    best = _best(advice, {ON[verdict]} if verdict in ON else ())
    if best is None:
        return ""
    bound = gains(situation)[verdict]
    if best.predicted_speedup >= MUCH_LESS * bound or bound_between_epochs(situation.model, bound):
        return ""
    step_ms, trials = situation.model.step_ms, situation.facts.advice_trials
    if verdict == "input-bound" and trials and gain_on_a_ready_batch(situation) is not None:
        # The verdict speaks of the step as it was on trial.
        step_ms = trials.step_ms
    left_ms = step_ms / best.predicted_speedup - step_ms / bound
    leaves = known_of(best.id).leaves
    if verdict == "callback-bound" and situation.facts.settings.in_a_loop:
        leaves = "what else the loop does between two calls, and what it does less often, stay"
    return (
        f"With {best.id} {in_ms(left_ms)} of that remain, hence its {best.predicted_speedup:.2f}×: "
        f"{leaves}."
    )


def _beside_computing(advice: Sequence[Recommendation]) -> str:
    """Where no part is worth anything by itself, and its removal is predicted to be."""
    best = _best(advice, ON.values())
    if best is None or best.tried or best.predicted_speedup < WORTHWHILE:
        return ""
    return (
        f"For {best.id} {best.predicted_speedup:.2f}× is predicted all the same: computing may "
        "speed up when it no longer shares the cores, or pauses, which only trying it shows."
    )


def _best(advice: Sequence[Recommendation], parts: Collection[str]) -> Recommendation | None:
    """Of those on one of these parts that gain in each step, and alone."""
    found = [
        each
        for each in advice
        if known_of(each.id).on in parts and each.of == "step" and not each.speedup_after_others
    ]
    return max(found, key=lambda each: each.predicted_speedup, default=None)
