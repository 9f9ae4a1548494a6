"""Totals of the exchange in, means over the steps in between out."""

from __future__ import annotations

from keras_perf.records.run.times.exchange import ExchangeFacts, ExchangeMeans, ExchangeTotals


def exchange_between(before: ExchangeTotals | None, now: ExchangeTotals) -> ExchangeMeans | None:
    """What the exchange took per step since `before`; None if no step was counted.

    A worker hands its gradients over when it has been busy for so long since it had the last
    sum, and all have that at about the same time: so it waits for the slowest by as much as
    that one was busy longer. In a step before which one did something else all of it is waiting.

    Arguments:
        before: the totals then; None where training began since.
        now: the totals now, of the same worker.

    What it cannot see: that some have the last sum earlier than others. Where that makes the
    wait for the others longer than the whole exchange, it is cut down to it.
    """
    if before is None:
        before = ExchangeTotals(0, 0.0, (0.0,) * len(now.busy_s), 0.0, now.rank, now.bytes_per_step)
    steps = now.steps - before.steps
    if steps <= 0:
        return None
    busy = [b - a for a, b in zip(before.busy_s, now.busy_s, strict=True)]
    slowest, mean = now.slowest_s - before.slowest_s, sum(busy) / len(busy)
    per_step_ms = 1e3 / steps
    communication = max(0.0, now.own_s - before.own_s)
    all_steps = steps + now.interrupted - before.interrupted
    more_ms = 1e3 * max(0.0, now.interrupted_s - before.interrupted_s) / all_steps
    waited = min(communication, max(0.0, slowest - busy[now.rank]))
    return ExchangeMeans(
        communication_ms=communication * per_step_ms + more_ms,
        peer_wait_ms=waited * per_step_ms + more_ms,
        skew_ms=max(0.0, slowest - mean) * per_step_ms,
        slowest_worker=busy.index(max(busy)),
        steadily_ms=(max(busy) - mean) * per_step_ms,
    )


class ExchangeTally:
    """Remembers the totals from one interval to the next.

    Attributes:
        totals: the newest; None before the first.
    """

    def __init__(self) -> None:
        self.totals: ExchangeTotals | None = None
        self._first: ExchangeTotals | None = None

    def take(self, totals: ExchangeTotals) -> ExchangeMeans | None:
        """What the exchange took per step since the last call; None at the first one."""
        last, self.totals = self.totals, totals
        if last is None:
            self._first = totals
            return None
        return exchange_between(last, totals)

    def facts(self) -> ExchangeFacts | None:
        """Sizes, and means from the first call to the last one."""
        if self.totals is None or len(self.totals.busy_s) < 2:
            return None
        means = exchange_between(self._first, self.totals)
        sizes = len(self.totals.busy_s), self.totals.bytes_per_step
        return ExchangeFacts(*sizes, **(means._asdict() if means is not None else {}))
