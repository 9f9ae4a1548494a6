"""A sensor that is opened again after it has failed."""

from __future__ import annotations

import time
from collections.abc import Callable

from keras_perf.observers.sensors.backoff import Backoff
from keras_perf.observers.sensors.sensor import Reader, SensorError, Values


class PersistentReader:
    """Reads `reader`; once that fails, closes it and opens another, after pauses that double.

    Arguments:
        reader: open.
        reopen: gives the next one, or raises SensorError.
        tell: told of the first failure, and of no other.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        reader: Reader,
        reopen: Callable[[], Reader],
        tell: Callable[[SensorError], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader: Reader | None = reader
        self._reopen, self._tell, self._clock = reopen, tell, clock
        self._told = False
        self._backoff = Backoff()

    def read(self) -> Values:
        """What the sensor says; nothing while it is away."""
        if self._reader is None and self._backoff.rests(self._clock()):
            return {}
        try:
            if self._reader is None:
                self._reader = self._reopen()
            values = self._reader.read()
        except SensorError as error:
            self._fails(error)
            return {}
        self._backoff.answers()
        return values

    def _fails(self, error: SensorError) -> None:
        self.close()
        self._backoff.fails(self._clock())
        if not self._told:
            self._told = True
            self._tell(error)

    def close(self) -> None:
        """Closes the sensor; safe to call twice."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
