"""Refilling a shuffle's buffer, named by the advice that shortens it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keras_perf.advise.as_written import runs_as
from keras_perf.advise.recommendation import Recommendation
from keras_perf.analyse.refills import Refills, refills_of
from keras_perf.analyse.summary import Summary
from keras_perf.records.advice_ids import (
    BATCH_BEFORE_MAP,
    CACHE,
    CHEAPER_SHUFFLE,
    INTERLEAVE,
    PARALLEL_INPUT,
    PARALLEL_MAP,
    PRIVATE_THREADPOOL,
)
from keras_perf.records.figures import counted, in_ms, in_percent
from keras_perf.records.run.run_facts import RunFacts

NOTICEABLE = 0.05
"""Share of the steps' time."""

OF_THE_SOURCE = {CACHE, INTERLEAVE, PARALLEL_INPUT}
"""Advice on what always stands before the shuffle."""

OF_MAPS = {PARALLEL_MAP, BATCH_BEFORE_MAP, PRIVATE_THREADPOOL}


def noticeable_refills(summary: Summary) -> Refills | None:
    """None where they are too short to be told of."""
    refills = refills_of(summary)
    return None if refills is None or refills.share < NOTICEABLE else refills


def shortening(facts: RunFacts) -> set[str]:
    """Ids of the advice that makes filling the buffer shorter; of maps, where none is behind it."""
    names = [stage.name for stage in facts.input.stages]
    shuffles = [place for place, name in enumerate(names) if "Shuffle" in name]
    maps = [place for place, name in enumerate(names) if runs_as("map", name)]
    before = bool(shuffles and maps) and max(maps) < shuffles[-1]
    return OF_THE_SOURCE | OF_MAPS if before else OF_THE_SOURCE


def naming_refills(summary: Summary, advice: Sequence[Recommendation]) -> list[Recommendation]:
    """The same, with a sentence in the reason of the first one that shortens refilling."""
    refills, named = noticeable_refills(summary), list(advice)
    if refills is None or any(each.id == CHEAPER_SHUFFLE for each in advice):
        return named
    ids = shortening(summary.facts)
    for place, each in enumerate(advice):
        if each.id in ids and each.evidence.keys().isdisjoint(("refill_ms", "again")):
            told = (
                " It also shortens refilling the shuffle's buffer: "
                f"{counted(refills.count, 'epoch')} began by waiting {in_ms(refills.each_ms)} for "
                f"that, {in_percent(refills.share)} of the time of all steps."
            )
            named[place] = replace(each, reason=f"{each.reason}{told}")
            break
    return named
