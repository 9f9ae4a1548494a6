"""What was measured of a change, as it is recorded."""

from __future__ import annotations

from keras_perf.records.run.tried.advice_trials import TriedChange
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.training.changes import TrainingChange


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
        low=of_all(pair.low),
        high=of_all(pair.high),
        before_ms=pair.before_ms + outside_ms,
        after_ms=pair.after_ms + outside_ms,
        code=change.code,
        number=change.number,
        costs=change.costs,
        alters=change.alters,
        after=after,
    )
