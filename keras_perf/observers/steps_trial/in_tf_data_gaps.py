"""What tf.data's gap times tell of a trial.

A gap lies between two batches: it holds neither the wait for input nor more than one step, so that
another process, which takes the machine for some milliseconds, is seen in a few of them only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median, median_low

from keras_perf.observers.steps_trial.cost_curve import DRAWS, CostCurve
from keras_perf.observers.steps_trial.trials_due import BETWEEN

NO_LONGER = 1.1
"""A gap that takes more than so many times an execution was lengthened by something else: it holds
the execution, but for its wait, and what lies between two."""


@dataclass(frozen=True, slots=True)
class InGaps:
    """Costs without the wait for input, whose noise would hide them.

    Attributes:
        ordinary_ms: gaps that held the end of an ordinary execution and the begin of the next.
        inner_ms: gaps inside executions of several steps, most of them.
        wait_ms: how long a step of the last of these waited for input.
    """

    ordinary_ms: Sequence[float]
    inner_ms: Sequence[float]
    wait_ms: float

    @property
    def step_ms(self) -> float:
        """A step in the graph."""
        return float(median(self.inner_ms))

    @property
    def per_execution_ms(self) -> float:
        """What an execution costs beyond its step."""
        return max(0.0, float(median_low(self.ordinary_ms)) - self.step_ms)

    def wait_of(self, in_graph_ms: float) -> float:
        """How long a step waits for input that takes so long in the graph.

        No longer than the last trial's did: what else runs on the machine looks like waiting.
        """
        return min(max(0.0, in_graph_ms - self.step_ms), self.wait_ms)

    def tell(self, execution_ms: float) -> bool:
        """An execution's cost is more than noise, and waiting for input does not take its place.

        Every ordinary gap is longer than three quarters of those inside, and half of them are no
        longer than executions.

        Arguments:
            execution_ms: an ordinary one, with what lies between it and the next.
        """
        most = sorted(self.inner_ms)[len(self.inner_ms) * 3 // 4]
        noticed = self.wait_ms < self.per_execution_ms / 2 and most < min(self.ordinary_ms)
        return noticed and median_low(self.ordinary_ms) <= NO_LONGER * execution_ms

    def curve(self) -> CostCurve:
        """The cost of a step by steps per execution."""
        return CostCurve(self.step_ms + self.wait_ms, self.per_execution_ms)

    def resampled_curves(self) -> list[CostCurve]:
        """Curves of bootstrap samples."""
        random = Random(0)

        def drawn(found: Sequence[float]) -> Sequence[float]:
            return random.choices(found, k=len(found))

        return [
            InGaps(drawn(self.ordinary_ms), drawn(self.inner_ms), self.wait_ms).curve()
            for _ in range(DRAWS)
        ]


def in_tf_data_gaps(gaps_us: Sequence[int], steps: int, trial_ms: float) -> InGaps | None:
    """What gap times say after a trial; None if they are too few.

    The newest gaps are the ordinary executions' since then; those before lie inside the trial's.

    Arguments:
        gaps_us: tf.data's gap times, newest last, where an ordinary execution is one step that
            fetches once.
        steps: of the last trial.
        trial_ms: how long that was.
    """
    gaps_ms = [gap / 1e3 for gap in gaps_us]
    ordinary, inner = gaps_ms[-BETWEEN:], gaps_ms[: -BETWEEN - 1]
    if len(inner) < BETWEEN:
        return None
    found = InGaps(ordinary, inner, 0.0)
    # Of a long trial only the newest gaps are remembered.
    within = gaps_ms[:-BETWEEN][1 - steps :]
    between_ms = sum(within) / len(within) * (steps - 1)
    # Its last step, and what it costs to enter and leave it: no more than in the shortest one.
    waits_ms = trial_ms - between_ms - max(found.step_ms, min(ordinary))
    return InGaps(ordinary, inner, max(0.0, waits_ms / steps))
