"""What was measured of a change, as it is recorded."""

from __future__ import annotations

import math

from keras_perf.records.run.tried.advice_trials import TriedChange
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.training.training_change import TrainingChange

APART = 0.05
"""By this share a training gains more or less in one run than in the next, beside what slices show.

Slices of one trial share what a process keeps: where threads run, and what lies in caches.
"""


def as_tried(
    change: TrainingChange, pair: Pair, outside_ms: float, after: tuple[str, ...] = ()
) -> TriedChange:
    """A change with what was measured of it.

    Arguments:
        change: what was changed.
        pair: steps without it and with it.
        outside_ms: of a step, in neither.
        after: ids of the changes that were in both.
    """

    def of_all(gain: float) -> float:
        return (pair.before_ms + outside_ms) / (pair.before_ms / gain + outside_ms)

    return TriedChange(
        id=change.id,
        where=change.where,
        gain=of_all(pair.gain),
        low=of_all(_further(pair.gain, pair.low, -1)),
        high=of_all(_further(pair.gain, pair.high, 1)),
        before_ms=pair.before_ms + outside_ms,
        after_ms=pair.after_ms + outside_ms,
        code=change.code,
        number=change.number,
        costs=change.costs,
        alters=change.alters,
        after=after,
    )


def _further(gain: float, bound: float, side: int) -> float:
    """A bound that holds from run to run too; what is independent adds up in squares."""
    return gain * math.exp(side * math.hypot(math.log(bound / gain), math.log1p(APART)))
