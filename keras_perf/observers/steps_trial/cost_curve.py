"""The cost of a step as a function of steps per execution.

Model: T(N) = c + h / N, with c the step inside the graph and h what each execution costs once
(entering and leaving the compiled function, reading logs, callbacks, Keras's loop).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

DRAWS = 200
"""Bootstrap samples."""

Samples = Mapping[int, Sequence[float]]
"""Steps per execution → times of such executions in ms, without the host's part after them."""


@dataclass(frozen=True, slots=True)
class CostCurve:
    """T(N) = in_graph_ms + per_execution_ms / N, in milliseconds per step.

    Attributes:
        in_graph_ms: c.
        per_execution_ms: h.
        measured: steps per execution whose time was measured, and that time: it needs no model.
    """

    in_graph_ms: float
    per_execution_ms: float
    measured: tuple[int, float] | None = None

    def step_ms(self, steps_per_execution: int) -> float:
        """Time of a step."""
        if self.measured is not None and self.measured[0] == steps_per_execution:
            return self.measured[1]
        return self.in_graph_ms + self.per_execution_ms / steps_per_execution

    def cost_at(self, steps_per_execution: int) -> float:
        """What an execution of so many steps costs beyond them, in milliseconds."""
        return max(0.0, self.step_ms(steps_per_execution) - self.in_graph_ms) * steps_per_execution

    def at_most(self, per_execution_ms: float, steps_per_execution: int) -> CostCurve:
        """A curve whose cost per execution is no larger, through the same time at one N."""
        if self.cost_at(steps_per_execution) <= per_execution_ms:
            return self
        rest = self.step_ms(steps_per_execution) - per_execution_ms / steps_per_execution
        return CostCurve(rest, per_execution_ms)


def fit_curve(samples: Samples, host_ms: float, present: int | None = None) -> CostCurve:
    """The curve that fits executions of several lengths best.

    An execution of n steps lasts n·c + h: a line by least squares of the relative errors, since
    noise grows with the time that it falls on. It goes through the lower quartiles: between
    others a longer execution is only ever slowed down, by cold caches and a busy machine.

    Arguments:
        samples: at least two lengths, each with at least one time.
        host_ms: time on the host after each execution, the same for all.
        present: the length that training runs at. Its own time is kept as measured, and where
            there are two others the line goes through those: a single step is run without the
            loop that the others have, and costs something else.
    """
    times = {steps: sorted(found)[len(found) // 4] for steps, found in samples.items()}
    measured = None
    if present is not None:
        own_ms = median(samples[present])
        measured = present, (own_ms + host_ms) / present
        if len(times) > 2:
            del times[present]
        else:
            # Beside one other length noise would be taken for a cost: of both the same is compared.
            times = {steps: median(found) for steps, found in samples.items()}
    weights = {n: len(samples[n]) / max(times[n], 1e-9) ** 2 for n in times}
    total = sum(weights.values())
    mean_n = sum(weights[n] * n for n in times) / total
    mean_t = sum(weights[n] * times[n] for n in times) / total
    spread = sum(weights[n] * (n - mean_n) ** 2 for n in times)
    slope = sum(weights[n] * (n - mean_n) * (times[n] - mean_t) for n in times) / spread
    in_graph = min(max(0.0, slope), *(times[n] / n for n in times))
    return CostCurve(in_graph, max(0.0, mean_t - in_graph * mean_n) + host_ms, measured)


def resampled_curves(
    samples: Samples, host_ms: float, present: int | None = None
) -> list[CostCurve]:
    """Curves of bootstrap samples: their spread is the curve's uncertainty."""
    random = Random(0)

    def drawn() -> Samples:
        return {n: random.choices(found, k=len(found)) for n, found in samples.items()}

    return [fit_curve(drawn(), host_ms, present) for _ in range(DRAWS)]
