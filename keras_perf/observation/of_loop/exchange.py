"""The exchange of gradients among the workers of a custom loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from keras_perf.observation.failure_line import warn_of
from keras_perf.observers.steps.exchange_means import ExchangeTally
from keras_perf.records.interval import Interval
from keras_perf.records.run.times.exchange import (
    ExchangeFacts,
    ExchangeMeans,
    ExchangeTotals,
    exchange_scalars,
)


@runtime_checkable
class TimedExchange(Protocol):
    """What times the exchange of gradients, such as `keras_perf.loop.Exchange`."""

    def pause(self) -> None:
        """What follows is no training."""

    def totals(self) -> ExchangeTotals | None:
        """Since training began; None where it is not measured."""


class ObservedExchange:
    """Reads the totals of a timed exchange; after its first failure no more.

    Arguments:
        timed: the exchange, or None where none is timed.
    """

    def __init__(self, timed: TimedExchange | None) -> None:
        self._timed = timed
        self._tally = ExchangeTally()

    def scalars(self, interval: Interval) -> Mapping[str, float]:
        """Tag → value of what the exchange took since the last interval."""
        means = self.note()
        if means is None:
            return {}
        return exchange_scalars(means, interval.compute_ns / interval.steps / 1e6)

    def note(self) -> ExchangeMeans | None:
        """What it took since the last time; None if unknown."""
        if self._timed is None:
            return None
        try:
            totals = self._timed.totals()
            return None if totals is None else self._tally.take(totals)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "reading the exchange's totals", "communication is missing from now on")
            self._timed = None
            return None

    def pause(self) -> None:
        """What follows is no training."""
        if self._timed is None:
            return
        try:
            self._timed.pause()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            warn_of(error, "pausing the exchange's clock", "communication is missing")
            self._timed = None

    def facts(self) -> ExchangeFacts | None:
        """Sizes, and means over the training."""
        return self._tally.facts()
