"""A step without the compiling in it."""

from __future__ import annotations

import pandas as pd

from keras_perf.advise.gains.of_a_part import WORTHWHILE
from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import between
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.times.outlier import Cause

COUNTED = 3
"""One or two executions are held up by chance for as long as XLA compiles; of so many of them that
were told from other pauses nothing else is in their time."""


def usual_share_of_compute(intervals: pd.DataFrame) -> float:
    """What a step usually computes, as a share of the mean; at most 1.

    A compilation that was not recognised lies in compute, and the steps after one are slower,
    since it has used all cores and caches. Both go with it: the median interval has neither.
    """
    inside = intervals["compute"]
    if "dispatch" in intervals:
        inside = inside + intervals["dispatch"].fillna(0.0)
    steps = intervals["steps"]
    mean = (inside * steps).sum() / steps.sum()
    in_order = inside.sort_values()
    reached = steps[in_order.index].cumsum() >= steps.sum() / 2
    return float(min(1.0, in_order[reached].iloc[0] / mean)) if mean > 0 else 1.0


def usual_computing(situation: Situation, optimism: float) -> float:
    """Share of computing that is left without compiling.

    As expected what it takes beyond the usual step goes; at worst nothing; at best a step becomes
    one of the quickest, which do not follow on a compilation.
    """
    usual = usual_share_of_compute(situation.summary.intervals)
    inside = situation.model.inside_ms
    quickest = (situation.model.undisturbed_ms or inside) / inside if inside else usual
    return between(1.0, usual, min(usual, quickest), optimism)


def compilation_ms(summary: Summary) -> float | None:
    """One of XLA's compilations, as a trace or the longest steps show it; None if neither does."""
    traced = summary.compiling
    if traced is not None and traced.by_xla and traced.share:
        return traced.compile_ms / traced.share
    count, total_ms = summary.facts.outliers.of(Cause.RECOMPILE)
    return total_ms / count if count else None


def hardly_compiles(situation: Situation) -> bool:
    """What compiles is too little to matter but for a few executions that may have been held up.

    They took as long as a compilation, and nothing else tells. Where a trace shows compiling, or
    the other ones, which are known, are worth removing, it is no guess.
    """
    summary, model = situation.summary, situation.model
    known = summary.facts.input
    by_trace = summary.compiling is not None and summary.compiling.by_xla
    if not 0 < (known.guessed_compilations or 0) < COUNTED or by_trace:
        return False
    spent_ms = model.rest.get("compile", 0.0)
    told_ms = max(0.0, spent_ms - known.guessed_compile_ms / max(1, summary.steps))
    return bool(model.step_ms < WORTHWHILE * (model.step_ms - told_ms))


def gain_without_compiling(situation: Situation) -> float:
    """Speed-up of the whole training if nothing compiled: what advice against it buys at most."""
    model = situation.model
    usual = usual_share_of_compute(situation.summary.intervals)
    without = model.with_inside(usual, compiling=0.0)
    return model.training_ms / max(1e-9, without.training_ms)
