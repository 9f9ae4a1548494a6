"""A step without the compiling in it."""

from __future__ import annotations

import pandas as pd

from keras_perf.advise.situation import Situation
from keras_perf.advise.step.step_model import INSIDE


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


def gain_without_compiling(situation: Situation) -> float:
    """Speed-up of the whole training if nothing compiled: what advice against it buys at most."""
    model = situation.model
    usual = usual_share_of_compute(situation.summary.intervals)
    without = model.with_rest({"compile": 0.0, **dict.fromkeys(INSIDE, usual)})
    return model.training_ms / max(1e-9, without.training_ms)
