"""What a cache gains over a whole training, whose first pass fills it; it is tried filled."""

from __future__ import annotations

from dataclasses import replace

from keras_perf.advise.cache_place import best_place
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.situation import Situation
from keras_perf.records.run.tried.advice_trials import TriedChange


def over_all_passes(tried: TriedChange, situation: Situation, *, cached: bool) -> TriedChange:
    """A cache is tried filled; over a training it gains less, for the first pass fills it."""
    passes = _passes(situation)
    if not cached or passes < 1:
        return tried
    gain, low, high = (
        passes / (1 + (passes - 1) / each) for each in (tried.gain, tried.low, tried.high)
    )
    return replace(tried, gain=gain, low=low, high=high)


def with_first_pass(
    advice: Recommendation, tried: TriedChange, situation: Situation
) -> Recommendation:
    """Why its figure is less than that of the steps that were tried."""
    passes = _passes(situation)
    if not known_of(tried.id).keeps or passes < 1:
        return advice
    told = (
        f" The cache was full then; the gain above also counts the first of the {passes:.0f} "
        "passes of this training, which fills it."
    )
    evidence = {**advice.evidence, "passes": passes, "gain_when_filled": tried.gain}
    return replace(advice, reason=f"{advice.reason}{told}", evidence=evidence)


def _passes(situation: Situation) -> float:
    """How often this training goes through what a cache would keep; 0 where that is not known."""
    place, length = best_place(situation.facts), situation.facts.length
    known = None if place is None else place.passes
    epochs = 0 if length.ends_by_steps else length.epochs_in_all or 0
    return float(epochs) if known is None else known
