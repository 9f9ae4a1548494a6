"""A sensor that is opened again after it has failed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from keras_perf.observers.sensors.backoff import Backoff
from keras_perf.observers.sensors.sensor import Reader, SensorError, Values

TOLD_AGAIN_S = 600.0
"""A failure so long after the one before is another one; pauses between tries are shorter."""


class PersistentReader:
    """Reads `reader`; once that fails, closes it and opens another, after pauses that double.

    Arguments:
        reader: open.
        reopen: gives the next one, or raises SensorError.
        tell: told of a failure, and of no other soon after one.
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
        self._told_at = -math.inf
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
        now = self._clock()
        self._backoff.fails(now)
        if now - self._told_at > TOLD_AGAIN_S:
            self._tell(error)
        # While it stays away nothing is new.
        self._told_at = now

    def close(self) -> None:
        """Closes the sensor; safe to call twice."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
