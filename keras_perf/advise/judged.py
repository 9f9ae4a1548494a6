"""The verdict and the advice, judged by the steps that are like those to come."""

from __future__ import annotations

from dataclasses import dataclass, replace

from keras_perf.advise.because import Because
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.situation import Situation, situation_of
from keras_perf.advise.verdict import verdict_of
from keras_perf.analyse.filled_cache import filled_cache
from keras_perf.analyse.summary import ENOUGH_STEPS
from keras_perf.records.figures import in_s


@dataclass(frozen=True)
class Judged:
    """A verdict, why, and what is advised."""

    verdict: str
    because: Because
    advice: tuple[Recommendation, ...]


def judged(situation: Situation) -> Judged:
    """By all measured steps, or by those after a first pass that filled a cache.

    The latter where only the first pass waits: what its maps do is never done again.
    """
    verdict, because = verdict_of(situation)
    enough = situation.summary.steps >= ENOUGH_STEPS
    advice = recommendations(situation) if enough else ()
    filled = filled_cache(situation.summary) if verdict == "input-bound" else None
    if filled is None:
        return Judged(verdict, because, advice)
    later = situation_of(filled.later)
    steady, why = verdict_of(later)
    if steady == verdict:
        return Judged(verdict, because, advice)
    told = (
        f"That is of the {filled.later.steps} steps after the first pass, which filled the cache() "
        f"and took {in_s(filled.longer_s)} longer than as many of them."
    )
    more = " ".join(filter(None, (why.more, told)))
    still = {each.id for each in recommendations(later)}
    kept = tuple(each for each in advice if each.id in still)
    return Judged(steady, replace(why, more=more), kept)
