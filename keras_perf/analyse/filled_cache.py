"""The steps after a first pass that filled a cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

from keras_perf.analyse.start_up import SLOW
from keras_perf.analyse.summary import ENOUGH_STEPS, Summary, mean_parts
from keras_perf.records.run.run_facts import RunFacts

MOSTLY = 0.5
"""Of what the first pass takes longer, the wait for input."""


@dataclass(frozen=True)
class FilledCache:
    """A training that went on, as long as an epoch at least, after its cache was filled.

    Attributes:
        later: the summary of the steps after the first pass alone.
        longer_s: so many seconds longer the measured steps of the first pass took than as many
            later ones.
    """

    later: Summary
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
    after = intervals.index - intervals["steps"] >= first_step + epoch_steps
    first, rest = intervals[~after], intervals[after]
    if not len(first) or rest["steps"].sum() < ENOUGH_STEPS:
        return None
    parts, was = mean_parts(rest), mean_parts(first)
    step_ms, was_ms = sum(parts.values()), sum(was.values())
    waited_ms = was.get("input_wait", 0.0) - parts.get("input_wait", 0.0)
    if was_ms <= SLOW * step_ms or waited_ms < MOSTLY * (was_ms - step_ms):
        return None
    steps = int(rest["steps"].sum())
    later = replace(summary, steps=steps, step_ms=step_ms, parts=parts, intervals=rest)
    return FilledCache(later, float(first["steps"].sum()) * (was_ms - step_ms) / 1e3)


def _is_cached(facts: RunFacts) -> bool:
    """Each epoch is a pass through a pipeline with a cache."""
    kinds = {stage.kind for chain in facts.input.chains for stage in chain}
    return "cache" in kinds and "repeat" not in kinds
