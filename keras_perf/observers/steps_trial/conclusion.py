"""What the trials of a training come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from keras_perf.observers.steps.known_dispatch import KnownDispatch
from keras_perf.observers.steps_trial.cost_curve import CostCurve, resampled_curves
from keras_perf.observers.steps_trial.in_tf_data_gaps import in_tf_data_gaps
from keras_perf.observers.steps_trial.steps_choice import (
    MOSTLY_INPUT,
    Bounds,
    recommend,
)
from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.records.run.tried.steps_trial import StepsTrial


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
    record: StepsTrial
    dispatch_ms: float | None
    ordinary_ms: float

    @property
    def unclear(self) -> bool:
        """More trials may tell what is gained from noise."""
        return self.record.lost_in_noise and self.record.input_wait_ms is None

    @property
    def scalars(self) -> dict[str, float]:
        """Tag → value of what the trials found."""
        record = self.record
        return {
            "steps_per_execution/recommended_steps": float(record.steps_per_execution),
            "steps_per_execution/predicted_speedup_ratio": record.predicted_speedup,
            "steps_per_execution/in_graph_ms": self.curve.in_graph_ms,
            "steps_per_execution/per_execution_ms": record.per_execution_ms or 0.0,
        }

    @property
    def dispatch(self) -> KnownDispatch | None:
        """Of an ordinary execution."""
        if self.dispatch_ms is None:
            return None
        return KnownDispatch(self.dispatch_ms / self.ordinary_ms, self.dispatch_ms)

    def dispatch_of(self, steps: int) -> KnownDispatch | None:
        """The same of an execution of so many steps, over which it is spread."""
        if not self.dispatch_ms:
            return None
        inside_ms = self.dispatch_ms + steps * self.curve.in_graph_ms
        return KnownDispatch(self.dispatch_ms / inside_ms, self.dispatch_ms)


def conclude(times: TrialTimes, present: int, bounds: Bounds, gaps_us: Sequence[int]) -> Conclusion:
    """What the times lead to.

    Arguments:
        times: of the present length and at least one other.
        present: steps of an ordinary execution.
        bounds: what limits the number that is recommended.
        gaps_us: tf.data's gap times, as `in_tf_data_gaps` takes them; () where they are no help.
    """
    host_ms, samples, ordinary_ms = times.host_ms, times.samples(present), None
    own_ms = median(samples[present])
    curves = [times.curve(present), *resampled_curves(samples, host_ms, present)]
    certain, wait_ms = times.surely_cheaper(present), 0.0
    gaps = in_tf_data_gaps(gaps_us, *times.newest_longer)
    if gaps is not None and gaps.tell(own_ms + host_ms) and not certain:
        # What else runs on the machine disturbs executions, which are longer, more than gaps.
        curves, certain = [gaps.curve(), *gaps.resampled_curves()], True
        ordinary_ms = max(curves[0].in_graph_ms, curves[0].step_ms(present) - host_ms)
    elif gaps is not None:
        wait_ms = gaps.wait_of(curves[0].in_graph_ms)
        longer_ms = min(sorted(ms)[0] / n for n, ms in samples.items() if n != present)
        possible = curves[0].step_ms(present) - gaps.per_execution_ms / present <= 1.1 * longer_ms
        if possible and wait_ms > MOSTLY_INPUT * curves[0].in_graph_ms:
            # Times of executions are mostly waiting; the gaps know better.
            curves = [each.at_most(gaps.per_execution_ms, present) for each in curves]
    curve, *resampled = curves
    record = recommend(curve, resampled, present, bounds, certain=certain, input_wait_ms=wait_ms)
    record = replace(
        record,
        trials={n: median(found) / n for n, found in sorted(samples.items())},
        trial_executions=times.executions,
        trial_s=times.trial_ns / 1e9,
        host_ms=host_ms,
    )
    dispatch_ms = None if record.may_be_chance else max(0.0, curve.cost_at(present) - host_ms)
    return Conclusion(curve, record, dispatch_ms, ordinary_ms or own_ms)
