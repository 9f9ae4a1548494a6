"""How long training waited for the buffer of a shuffle to be filled again."""

from __future__ import annotations

from dataclasses import dataclass

from keras_perf.analyse.of_intervals.epoch_begins import begins_for_one
from keras_perf.analyse.summary import Summary
from keras_perf.records.run.times.outlier import Cause


@dataclass(frozen=True)
class Refills:
    """Epochs that began with waiting for a shuffle, those of the warm-up left out.

    Attributes:
        count: of those that no capture holds.
        each_ms: mean wait, longer than that of other steps by so much.
        per_step_ms: all of it, shared among all steps.
        share: of the steps' time, 0 to 1.
    """

    count: int
    each_ms: float
    per_step_ms: float
    share: float


def refills_of(summary: Summary) -> Refills | None:
    """None where none was noticed, or what the shuffle holds is less than a batch.

    What it cannot see: refills in the middle of an epoch, as of a shuffle inside another stage.
    """
    count, total_ms = summary.facts.outliers.of(Cause.SHUFFLE)
    if not count or not total_ms or not summary.after_warmup or not summary.step_ms:
        return None
    if summary.facts.input.shuffles_within_a_batch:
        return None
    per_step_ms = total_ms * begins_for_one(summary.facts) / summary.after_warmup
    return Refills(count, total_ms / count, per_step_ms, per_step_ms / summary.step_ms)
