"""What the trials of a training come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from keras_perf.observers.steps_trial.cost_curve import CostCurve, resampled_curves
from keras_perf.observers.steps_trial.steps_choice import (
    MOSTLY_INPUT,
    Bounds,
    recommend,
)
from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.observers.steps_trial.trials_due import BETWEEN
from keras_perf.records.run.tried.steps_trial import StepsPerExecution


class _InGaps(NamedTuple):
    """Costs without the wait for input, whose noise would hide them, in milliseconds."""

    step_ms: float
    """A step in the graph."""
    per_execution_ms: float
    """What an execution costs beyond its step."""


def _costs_in_gaps(gaps_us: Sequence[int]) -> _InGaps | None:
    """What tf.data's gap times say after a trial; None if they are too few.

    The newest gaps are the ordinary executions' since then; those before lie inside the trial's.

    Arguments:
        gaps_us: tf.data's gap times, newest last, where an ordinary execution is one step that
            fetches once.
    """
    gaps_ms = [gap / 1e3 for gap in gaps_us]
    ordinary, inner = gaps_ms[-BETWEEN:], gaps_ms[: -BETWEEN - 1]
    if len(inner) < BETWEEN:
        return None
    step_ms = float(median(inner))
    return _InGaps(step_ms, max(0.0, float(median(ordinary)) - step_ms))


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The measured cost, and what is recommended.

    Attributes:
        curve: time of a step by steps per execution.
        record: the recommendation.
        dispatch_ms: entering and leaving the train function once; None if it is within noise.
        ordinary_ms: an ordinary execution, inside the train function.
    """

    curve: CostCurve
    record: StepsPerExecution
    dispatch_ms: float | None
    ordinary_ms: float

    @property
    def dispatch_share(self) -> float | None:
        """How much of the time inside an ordinary execution is entering and leaving it."""
        return None if self.dispatch_ms is None else self.dispatch_ms / self.ordinary_ms

    def dispatch_share_of(self, steps: int) -> float | None:
        """The same of an execution of so many steps, over which it is spread."""
        if not self.dispatch_ms:
            return None
        return self.dispatch_ms / (self.dispatch_ms + steps * self.curve.in_graph_ms)


def conclude(times: TrialTimes, present: int, bounds: Bounds, gaps_us: Sequence[int]) -> Conclusion:
    """What the times lead to.

    Arguments:
        times: of the present length and at least one other.
        present: steps of an ordinary execution.
        bounds: what limits the number that is recommended.
        gaps_us: tf.data's gap times, as `_costs_in_gaps` takes them; () where they are no help.
    """
    host_ms = times.host_ms
    samples, curve = times.samples(present), times.curve(present)
    resampled = resampled_curves(samples, host_ms, present)
    wait_ms = 0.0
    if (in_gaps := _costs_in_gaps(gaps_us)) is not None:
        step_ms, per_execution_ms = in_gaps
        wait_ms = max(0.0, curve.in_graph_ms - step_ms)
        longer_ms = min(sorted(ms)[0] / n for n, ms in samples.items() if n != present)
        possible = curve.step_ms(present) - per_execution_ms / present <= 1.1 * longer_ms
        if possible and wait_ms > MOSTLY_INPUT * curve.in_graph_ms:
            # Times of executions are mostly waiting; the gaps know better.
            curve = curve.at_most(per_execution_ms, present)
            resampled = [each.at_most(per_execution_ms, present) for each in resampled]
    certain = times.surely_cheaper(present)
    record = recommend(curve, resampled, present, bounds, certain=certain, input_wait_ms=wait_ms)
    record = replace(
        record,
        trials={n: median(found) / n for n, found in sorted(samples.items())},
        trial_executions=times.executions,
        trial_s=times.trial_ns / 1e9,
        host_ms=host_ms,
    )
    dispatch_ms = max(0.0, curve.cost_at(present) - host_ms) if certain else None
    return Conclusion(curve, record, dispatch_ms, median(samples[present]))
