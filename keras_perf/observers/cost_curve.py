"""The cost of a step as a function of steps per execution.

Model: T(N) = c + h / N, with c the step inside the graph and h what each execution costs once
(entering and leaving the compiled function, reading logs, callbacks, Keras's loop).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

Samples = Mapping[int, Sequence[float]]
"""Steps per execution → times of such executions in ms, without the host's part after them."""


@dataclass(frozen=True, slots=True)
class CostCurve:
    """T(N) = in_graph_ms + per_execution_ms / N, in milliseconds per step."""

    in_graph_ms: float
    per_execution_ms: float

    def step_ms(self, steps_per_execution: int) -> float:
        """Predicted time of a step."""
        return self.in_graph_ms + self.per_execution_ms / steps_per_execution

    def at_most(self, per_execution_ms: float, steps_per_execution: int) -> CostCurve:
        """A curve whose cost per execution is no larger, through the same time at one N."""
        if self.per_execution_ms <= per_execution_ms:
            return self
        rest = self.step_ms(steps_per_execution) - per_execution_ms / steps_per_execution
        return CostCurve(rest, per_execution_ms)


def fit_curve(samples: Samples, host_ms: float) -> CostCurve:
    """The curve that fits executions of several lengths best.

    An execution of n steps lasts n·c + h: a line through the medians, by least squares of the
    relative errors, since noise grows with the time that it falls on.

    Arguments:
        samples: at least two lengths, each with at least one time.
        host_ms: time on the host after each execution, the same for all.
    """
    times = {steps: median(found) for steps, found in samples.items()}
    weights = {n: len(samples[n]) / max(times[n], 1e-9) ** 2 for n in times}
    total = sum(weights.values())
    mean_n = sum(weights[n] * n for n in times) / total
    mean_t = sum(weights[n] * times[n] for n in times) / total
    spread = sum(weights[n] * (n - mean_n) ** 2 for n in times)
    slope = sum(weights[n] * (n - mean_n) * (times[n] - mean_t) for n in times) / spread
    in_graph = min(max(0.0, slope), *(times[n] / n for n in times))
    return CostCurve(in_graph, max(0.0, mean_t - in_graph * mean_n) + host_ms)


def resampled_curves(samples: Samples, host_ms: float, draws: int = 200) -> list[CostCurve]:
    """Curves of bootstrap samples: their spread is the curve's uncertainty."""
    random = Random(0)
    return [
        fit_curve({n: random.choices(found, k=len(found)) for n, found in samples.items()}, host_ms)
        for _ in range(draws)
    ]
