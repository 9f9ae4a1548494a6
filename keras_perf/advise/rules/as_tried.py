"""Advice that was tried: what was measured stands in place of what would be predicted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from keras_perf.advise.recommendation import Change, Recommendation
from keras_perf.advise.situation import Situation
from keras_perf.advise.step_model import StepModel
from keras_perf.records.run.advice_trials import AdviceTrials, TriedChange

CLEARLY = 1.02
"""A change is worth it if it was so many times as fast at the lower end of its interval."""

TITLES = {
    "parallel-map": "Call the map's function in several threads",
    "cache": "Keep what is the same in every pass",
    "prefetch": "Make batches ahead of training",
    "private-threadpool": "Give the input a pool of threads of its own",
    "batch-before-map": "Call the map's function for whole batches",
    "interleave": "Read several files at a time",
    "nondeterministic-order": "Let examples overtake each other",
    "enable-xla": "Compile the train function with XLA",
    "disable-xla": "Do not compile the train function with XLA",
    "disable-run-eagerly": "Compile the train step",
    "stable-shapes": "Give the train function batches of few lengths",
    "raise-steps-per-execution": "Run several steps per execution",
    "tune-gc": "Let Python's garbage collector run less often",
    "mixed-precision": "Compute in half precision",
    "full-precision": "Compute in float32",
    "larger-batch": "Train on larger batches",
}
"""Of advice that only a trial gives; any other has its id for a title."""


def as_tried(
    situation: Situation, found: Iterable[Recommendation]
) -> tuple[list[Recommendation], list[Recommendation]]:
    """Those that trials speak for or that were not tried, and those that trials leave for later.

    What was tried and did not pay goes; what pays and no rule has thought of comes. Where changes
    were put together, those that gained nothing on top of them wait: the next run decides.

    Arguments:
        situation: of a run, with its trials or without.
        found: what rules advise, from the model.
    """
    trials = situation.facts.advice_trials
    if trials is None:
        return list(found), []
    measured = best_of_each(trials)
    kept = [_in_place_of(each, measured.pop(each.id, None)) for each in found]
    kept += [_from_trial(each) for each in measured.values()]
    chosen = {each.id for each in trials.together}
    now: list[Recommendation] = []
    later: list[Recommendation] = []
    for each, tried in ((each, best_of_each(trials).get(each.id)) for each in kept):
        if tried is None:
            now.append(each)
        elif tried.low >= CLEARLY:
            waits = bool(chosen) and not tried.alters and each.id not in chosen
            (later if waits else now).append(each)
    return now, later


def best_of_each(trials: AdviceTrials) -> dict[str, TriedChange]:
    """Id → the trial of that kind that gained most, on top of others where it was kept there."""
    best: dict[str, TriedChange] = {}
    for tried in (*trials.changes, *trials.together):
        if tried.id not in best or tried.gain > best[tried.id].gain:
            best[tried.id] = tried
    return best


def measured_total(situation: Situation, ids: Collection[str]) -> TriedChange | None:
    """What these changes gained together, if they are those that were put together."""
    trials = situation.facts.advice_trials
    if trials is None or set(ids) != {each.id for each in trials.together}:
        return None
    return trials.total


def _in_place_of(advice: Recommendation, tried: TriedChange | None) -> Recommendation:
    """The recommendation with the gain that was measured."""
    if tried is None:
        return advice
    return replace(
        advice,
        predicted_speedup=max(1.0, tried.gain),
        low=max(1.0, tried.low),
        high=max(1.0, tried.high),
        evidence={
            **advice.evidence,
            "predicted_by_model": advice.predicted_speedup,
            "tried_step_ms": [tried.before_ms, tried.after_ms],
        },
        of="step",
        tried=True,
        change=_as_measured(tried),
    )


def _from_trial(tried: TriedChange) -> Recommendation:
    costs = f" It costs {tried.costs}." if tried.costs else ""
    alters = f" It alters training: {tried.alters}." if tried.alters else ""
    return Recommendation(
        tried.id,
        TITLES.get(tried.id, tried.id),
        f"Tried on this training ({tried.where}): a step took {tried.before_ms:.3g} ms without and "
        f"{tried.after_ms:.3g} ms with it.{costs}{alters}",
        tried.code,
        max(1.0, tried.gain),
        max(1.0, tried.low),
        max(1.0, tried.high),
        {
            "tried_step_ms": [tried.before_ms, tried.after_ms],
            **({} if tried.number is None else {"advised": tried.number}),
        },
        tried=True,
        change=_as_measured(tried),
    )


def _as_measured(tried: TriedChange) -> Change:
    def change(model: StepModel, optimism: float) -> StepModel:
        end = tried.high if optimism > 0 else tried.low
        return model.faster(max(1.0, tried.gain + abs(optimism) * (end - tried.gain)))

    return change
