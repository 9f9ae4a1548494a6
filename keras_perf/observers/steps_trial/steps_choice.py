"""Which number of steps per execution to set, from the measured cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from keras_perf.observers.steps_trial.cost_curve import CostCurve
from keras_perf.records.run.tried.steps_trial import StepsTrial

NEAR_FLOOR = 0.02
"""A step within 2% of the floor c is as good as there: larger N only lengthens executions."""

MOSTLY_INPUT = 0.5
"""A step that waits for input in the graph for more than this share of its time is bound by it."""

WORTHWHILE = 1.05
"""Below this predicted speed-up a change is not worth advising."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What limits the choice.

    Attributes:
        limit: the user's own bound.
        max_execution_s: no execution is to be longer.
        epoch_steps: steps of an epoch; None where there is no end.
        whole_executions: Keras rounds an epoch up to whole executions, as it does with
            `steps_per_epoch` on data without an end.
        setting: what the number is called where it is set.
    """

    limit: int
    max_execution_s: float
    epoch_steps: int | None
    whole_executions: bool = False
    setting: str = "steps_per_execution"

    def largest(self, curve: CostCurve) -> int:
        """The largest N that keeps all of them; at least 1."""
        free_ms = self.max_execution_s * 1e3 - curve.per_execution_ms
        by_time = self.limit
        if curve.in_graph_ms > 0 and math.isfinite(free_ms):
            by_time = min(self.limit, max(0, int(free_ms / curve.in_graph_ms)))
        elif free_ms < 0:
            by_time = 0
        return max(1, min(self.limit, by_time, self.epoch_steps or self.limit))


def choose_steps(curve: CostCurve, bounds: Bounds) -> int:
    """The smallest convenient N near the floor.

    Convenient are powers of two and divisors of the epoch's steps; a divisor is preferred up to
    twice the N that is needed, because then every execution of an epoch is whole.
    """
    cap = bounds.largest(curve)
    divisors = [d for d in range(1, cap + 1) if not (bounds.epoch_steps or math.inf) % d]
    powers = [1 << k for k in range(cap.bit_length()) if 1 << k <= cap]
    if curve.in_graph_ms <= 0:
        needed = math.inf if curve.per_execution_ms > 0 else 1
    else:
        needed = curve.per_execution_ms / (NEAR_FLOOR * curve.in_graph_ms)
    fitting = [d for d in divisors if needed <= d <= 2 * max(1, needed)]
    enough = [n for n in powers if n >= needed]
    return min(fitting or enough or [max(powers + divisors)])


def recommend(
    curve: CostCurve,
    resampled: Sequence[CostCurve],
    current: int,
    bounds: Bounds,
    *,
    certain: bool = True,
    input_wait_ms: float = 0.0,
) -> StepsTrial:
    """The number to set, what it buys, and why.

    Arguments:
        curve: the measured curve.
        resampled: its bootstrap samples, for the interval (5th to 95th percentile).
        current: steps per execution now; no smaller number is recommended.
        bounds: what limits the choice.
        certain: the measured times differ by more than their noise.
        input_wait_ms: how much of a step in the graph is waiting for input.
    """
    chosen = max(choose_steps(curve, bounds), current)
    speedups = sorted(c.step_ms(current) / max(1e-9, c.step_ms(chosen)) for c in resampled)
    low = speedups[len(speedups) * 5 // 100]
    high = speedups[len(speedups) * 95 // 100]
    speedup = curve.step_ms(current) / max(1e-9, curve.step_ms(chosen))
    kept = StepsTrial(
        steps_per_execution=current,
        present=current,
        in_graph_ms=curve.in_graph_ms,
        per_execution_ms=curve.cost_at(current),
        setting=bounds.setting,
    )
    # A gain that some of the samples hardly have may be what else runs on the machine.
    certain = certain and (speedup < WORTHWHILE or low >= WORTHWHILE)
    if speedup < WORTHWHILE or not certain:
        waits = input_wait_ms > MOSTLY_INPUT * curve.step_ms(current)
        return replace(
            kept,
            input_wait_ms=input_wait_ms if waits else None,
            lost_in_noise=speedup >= WORTHWHILE,
            may_be_chance=not certain,
        )
    return replace(
        kept,
        steps_per_execution=chosen,
        predicted_speedup=speedup,
        low=max(1.0, min(low, speedup)),
        high=max(high, speedup),
        left_steps=(bounds.epoch_steps or chosen) % chosen,
        whole_executions=bounds.whole_executions,
    )
