"""What several workers spend on exchanging their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from keras_perf.records.shapes import WrongShapeError, count, fact, needed, number

MILLISECONDS = number(most=1e12)

EXCHANGE_PARTS = ("communication", "peer_wait", "skew")
"""Logged as `perf/<name>_ms`: the first lies inside compute, and holds the second."""


class ExchangeTotals(NamedTuple):
    """Sums since training began, on one worker. Durations only: no two clocks are compared."""

    steps: int
    """Optimizer steps counted."""
    own_s: float
    """This worker's seconds from handing its gradients over until it has the sum."""
    busy_s: tuple[float, ...]
    """Of every worker: seconds from having the last sum until handing its gradients over."""
    slowest_s: float
    """The largest of these in each step, summed over the steps."""
    rank: int
    """This worker's number."""
    bytes_per_step: int
    """Of the gradients that are reduced."""
    interrupted: int = 0
    """Steps beside those counted: before them a worker did something else, and others waited."""
    interrupted_s: float = 0.0
    """This worker's seconds in them from handing its gradients over until it has the sum."""


class ExchangeMeans(NamedTuple):
    """Means over a stretch of steps, in milliseconds per step, on one worker."""

    communication_ms: float
    """From handing the gradients over until the sum is there."""
    peer_wait_ms: float
    """Of that, what it waited for a worker that was not ready yet."""
    skew_ms: float
    """What a worker waits on average for the slowest one of each step."""
    slowest_worker: int
    """The number of the one that was busy longest."""
    steadily_ms: float
    """Of the skew, what the slowest worker is longer busy than the mean of all."""

    @property
    def wire_ms(self) -> float:
        """The exchange itself: what is left when nobody is waited for."""
        return self.communication_ms - self.peer_wait_ms


@dataclass(frozen=True, slots=True)
class ExchangeFacts:
    """Sizes, and means over a training; who is steadily the slowest is known wholly or not."""

    workers: int = needed(count(2, 1e6))
    bytes_per_step: int = needed(count(1))
    communication_ms: float | None = fact(MILLISECONDS)
    peer_wait_ms: float | None = fact(MILLISECONDS)
    skew_ms: float | None = fact(MILLISECONDS)
    slowest_worker: int | None = fact(count(0, 1e6))
    steadily_ms: float | None = fact(number(-1.0, 1e12))

    def __post_init__(self) -> None:
        known = self.slowest_worker is not None
        if known != (self.steadily_ms is not None) or (self.slowest_worker or 0) >= self.workers:
            raise WrongShapeError


def exchange_scalars(means: ExchangeMeans, compute_ms: float) -> dict[str, float]:
    """Tag → value.

    Arguments:
        means: of an interval, with executions that no figure counts.
        compute_ms: of the interval's steps; the exchange lies inside.
    """
    communication = min(means.communication_ms, compute_ms)
    return {
        "perf/communication_ms": communication,
        "perf/peer_wait_ms": min(means.peer_wait_ms, communication),
        "perf/skew_ms": means.skew_ms,
        "perf/slowest_worker": float(means.slowest_worker),
    }
