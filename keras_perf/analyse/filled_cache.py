"""The steps after a first pass that filled a cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from keras_perf.analyse.summary import ENOUGH_STEPS, Summary, mean_parts, mean_step_ms
from keras_perf.records.run.run_facts import RunFacts

SLOW = 1.25
"""Steps that take so many times the usual are not steady yet."""

MOSTLY = 0.5
"""Of what the first pass takes longer, the wait for input."""


@dataclass(frozen=True)
class FilledCache:
    """A training that went on, as long as an epoch at least, after its cache was filled.

    Attributes:
        first: the intervals of the first pass.
        waited_ms, waits_later_ms: of a step of the first pass, and of those after it, the wait for
            input.
        longer_s: so many seconds longer the measured steps of the first pass took than as many
            later ones.
    """

    first: pd.DataFrame
    waited_ms: float
    waits_later_ms: float
    longer_s: float


def filled_cache(summary: Summary) -> FilledCache | None:
    """None where no first pass filled a cache, or too few steps followed it.

    What it cannot see: a pass that is not an epoch. Steps of an interval that lies in both count
    as the first pass's.
    """
    facts, intervals = summary.facts, summary.intervals
    epoch_steps, first_step = facts.length.epoch_steps, facts.length.first_step
    if not epoch_steps or first_step is None or not _is_cached(facts):
        return None
    if facts.length.steps < 2 * epoch_steps or "input_wait" not in intervals:
        return None
    begin = intervals.index - intervals["steps"] - first_step
    first, rest = intervals[begin < epoch_steps], intervals[begin >= epoch_steps]
    second = intervals[(begin >= epoch_steps) & (begin < 2 * epoch_steps)]
    if rest["steps"].sum() < ENOUGH_STEPS or not _is_slow(first, rest) or _is_slow(second, rest):
        return None
    parts, was = mean_parts(rest), mean_parts(first)
    step_ms, was_ms = sum(parts.values()), sum(was.values())
    waited_ms, later_ms = was.get("input_wait", 0.0), parts.get("input_wait", 0.0)
    if was_ms <= SLOW * step_ms or waited_ms - later_ms < MOSTLY * (was_ms - step_ms):
        return None
    longer_s = float(first["steps"].sum()) * (was_ms - step_ms) / 1e3
    return FilledCache(first, waited_ms, later_ms, longer_s)


def without_first_pass(summary: Summary, filled: FilledCache) -> Summary:
    """Means over the steps that followed it; what sensors show stays that of the whole training."""
    rest = summary.intervals.drop(filled.first.index)
    steps, step_ms = int(rest["steps"].sum()), mean_step_ms(rest)
    return replace(summary, intervals=rest, steps=steps, step_ms=step_ms, parts=mean_parts(rest))


def fills_it_unmeasured(summary: Summary) -> bool:
    """A first pass fills a cache, and all of its steps were warm-up."""
    length, begin = summary.facts.length, summary.intervals.index - summary.intervals["steps"]
    if not length.epoch_steps or length.first_step is None or not _is_cached(summary.facts):
        return False
    return bool((begin - length.first_step >= length.epoch_steps).all())


def _is_slow(some: pd.DataFrame, usual: pd.DataFrame) -> bool:
    """Half of the intervals, so that one in which others took the machine decides nothing."""
    return len(some) > 0 and bool(some["step"].median() > SLOW * usual["step"].median())


def _is_cached(facts: RunFacts) -> bool:
    """Each epoch is a pass through a pipeline with a cache."""
    return "cache" in facts.input.kinds and "repeat" not in facts.input.kinds
