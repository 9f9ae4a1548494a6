"""The cost of a step as a function of steps per execution, and which number to choose.

Model: T(N) = c + h / N, with c the step inside the graph and h what each execution costs once
(entering and leaving the compiled function, reading logs, callbacks, Keras's loop).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any

NEAR_FLOOR = 1.03
"""A step within 3 % of the floor c is as good as there: larger N only lengthens executions."""

WORTHWHILE = 1.05
"""Below this predicted speed-up a change is not worth advising."""

CHOICES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class CostCurve:
    """T(N) = in_graph_ms + per_execution_ms / N, in milliseconds per step."""

    in_graph_ms: float
    per_execution_ms: float

    def step_ms(self, steps_per_execution: int) -> float:
        """Predicted time of a step."""
        return self.in_graph_ms + self.per_execution_ms / steps_per_execution


@dataclass(frozen=True, slots=True)
class StepsPerExecution:
    """What `StepsPerExecutionRecommender.recommendation` returns."""

    steps_per_execution: int
    predicted_speedup: float
    low: float
    high: float
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


def fit_curve(
    few_ms: Sequence[float], few: int, many_ms: Sequence[float], many: int, host_ms: float
) -> CostCurve:
    """The curve through the medians of executions of `few` and of `many` steps.

    Arguments:
        few_ms: times of executions of `few` steps, without the host's part after them.
        few: their steps.
        many_ms: times of executions of `many` steps, likewise.
        many: their steps, more than `few`.
        host_ms: time on the host after each execution, the same for both.
    """
    short, long = median(few_ms), median(many_ms)
    in_graph = min(max(0.0, (long - short) / (many - few)), long / many, short / few)
    return CostCurve(in_graph, short - few * in_graph + host_ms)


def resampled_curves(
    few_ms: Sequence[float],
    few: int,
    many_ms: Sequence[float],
    many: int,
    host_ms: float,
    draws: int = 200,
) -> list[CostCurve]:
    """Curves of bootstrap samples of both: their spread is the curve's uncertainty."""
    random = Random(0)
    return [
        fit_curve(
            random.choices(few_ms, k=len(few_ms)),
            few,
            random.choices(many_ms, k=len(many_ms)),
            many,
            host_ms,
        )
        for _ in range(draws)
    ]


def choose_steps(curve: CostCurve, *, limit: int, max_execution_s: float) -> int:
    """The smallest N within 3 % of the floor, bounded by `limit` and by an execution's length."""
    best = 1
    for n in CHOICES:
        if n > limit or curve.step_ms(n) * n > max_execution_s * 1e3:
            break
        best = n
        if curve.step_ms(n) <= NEAR_FLOOR * curve.in_graph_ms:
            break
    return best


def recommend(
    curve: CostCurve,
    resampled: Sequence[CostCurve],
    current: int,
    *,
    limit: int,
    max_execution_s: float,
) -> StepsPerExecution:
    """The number to set, what it buys, and why.

    Arguments:
        curve: the measured curve.
        resampled: its bootstrap samples, for the interval (5th to 95th percentile).
        current: steps per execution now.
        limit: the largest N that makes sense: the steps of an epoch, or the user's bound.
        max_execution_s: no execution is to be longer.
    """
    chosen = max(choose_steps(curve, limit=limit, max_execution_s=max_execution_s), current)
    speedups = sorted(c.step_ms(current) / c.step_ms(chosen) for c in resampled)
    low = speedups[len(speedups) * 5 // 100]
    high = speedups[len(speedups) * 95 // 100]
    speedup = curve.step_ms(current) / curve.step_ms(chosen)
    evidence = {
        "in_graph_ms": curve.in_graph_ms,
        "per_execution_ms": curve.per_execution_ms,
        "steps_per_execution": current,
    }
    figures = (
        f"a step costs {curve.in_graph_ms:.3g} ms inside the graph, "
        f"an execution {curve.per_execution_ms:.3g} ms more"
    )
    if speedup < WORTHWHILE:
        reason = f"no change: {figures}, too little to matter."
        return StepsPerExecution(current, 1.0, 1.0, 1.0, reason, evidence)
    reason = f"{figures}: steps_per_execution={chosen} shares that among {chosen} steps."
    return StepsPerExecution(
        chosen, speedup, max(1.0, min(low, speedup)), max(high, speedup), reason, evidence
    )
