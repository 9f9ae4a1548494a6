"""What became of a run's advice in a later run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.analyse.stage_paces import stage_paces
from keras_perf.report.compared.whole_in_comparison import beside, in_first_epoch
from keras_perf.report.diagnosis import Diagnosis

WHOLE = "the whole training"


@dataclass(frozen=True)
class AdviceTaken:
    """One recommendation, later.

    Attributes:
        advice: as it was given.
        taken: the later run no longer gives it, or shows what was advised; None where that
            cannot be told.
        again: the later run gives it, too.
    """

    advice: Recommendation
    taken: bool | None
    again: bool

    @property
    def predicted(self) -> float:
        """What it was to buy, alone or once those above it are done."""
        return self.advice.speedup_after_others or self.advice.predicted_speedup

    @property
    def gain(self) -> str:
        """The same as it is told, with whether it was measured on trial."""
        return f"{self.predicted:.2f}×{' on trial' if self.advice.tried else ''}"

    def __str__(self) -> str:
        if self.taken is None:
            return "unknown"
        if self.taken:
            return "taken"
        return "still recommended" if self.again else "not taken, nor recommended now"


def predicted_and_measured(
    before: Diagnosis, advice: Sequence[AdviceTaken], measured: Mapping[str, float]
) -> str:
    """What was predicted of all advice beside what was measured.

    Arguments:
        before: what gave it.
        advice: what became of it.
        measured: how many times as fast what became: the whole training, a step or an example.
    """
    if not before.recommendations:
        return "No change had been recommended."
    if all(each.alone for each in before.recommendations):
        return "What had been recommended was measured one by one, and is in no total."
    if len(measured) == 1 and all(each.of == "whole" for each in before.recommendations):
        return "What was predicted is of the whole training, which these two do not tell."
    told = []
    for what, speedup in measured.items():
        if what == WHOLE:
            told.append(beside(what, before.combined_whole_speedup, speedup))
        elif WHOLE not in measured or "a step" in before.predicted_together:
            told.append(beside(what, before.combined_speedup, speedup))
    return f"{_how_expected(advice)}: {'; '.join(told)}."


def _how_expected(advice: Sequence[AdviceTaken]) -> str:
    """Where the figure of all of it comes from, and whether all was followed."""
    advice = [each for each in advice if not each.advice.alone]
    tried = [each.advice.tried for each in advice]
    how = "Predicted, in part from trials," if any(tried) else "Predicted"
    if all(tried):
        how = "Expected, from trials,"
    all_taken = all(each.taken for each in advice)
    which = "" if all_taken else ", though not all are known to have been followed"
    return f"{how} for all recommendations together{which}"


def advice_taken(before: Diagnosis, after: Diagnosis) -> tuple[AdviceTaken, ...]:
    """Each recommendation of `before`, as `after` shows it."""
    return tuple(_later(advice, before, after) for advice in before.recommendations)


def _later(advice: Recommendation, before: Diagnosis, after: Diagnosis) -> AdviceTaken:
    subject = _subject(advice, before)
    given = [each for each in after.recommendations if _subject(each, after) == subject]
    return AdviceTaken(advice, _is_taken(advice, given, after), bool(given))


def _is_taken(advice: Recommendation, given: list[Recommendation], after: Diagnosis) -> bool | None:
    known = known_of(advice.id)
    if known.followed is not None:
        shown = known.followed(after.summary.facts, advice)
        if shown is not None or not known.else_gone:
            return shown
    if known.takes_less is not None:
        return known.takes_less(after.summary, advice)
    if not after.summary.steps or after.verdict == "inconclusive":
        return None
    if not given and _could_not_be(advice, after):
        return None
    advised = advice.evidence.get("advised")
    if not given or advised is None:
        return not given
    present = given[0].evidence.get("present")
    return None if present is None else bool(present >= advised)


def _could_not_be(advice: Recommendation, later: Diagnosis) -> bool:
    """That it is not given again tells nothing: what it rests on the later run does not have."""
    facts, of_epochs = later.summary.facts, known_of(advice.id).on != "compiling"
    if advice.of == "whole" and of_epochs and in_first_epoch(facts):
        return True
    # Some advice only a trial gives.
    return advice.tried and facts.advice_trials is None


def _subject(advice: Recommendation, given_in: Diagnosis) -> tuple[str, Any]:
    """What advice is about; stages without their place, which may change."""
    names = {pace.name: pace.stage.name for pace in stage_paces(given_in.summary.facts)}
    stage = advice.evidence.get("stage", "")
    return advice.id, advice.evidence.get("owner") or names.get(stage, stage)
