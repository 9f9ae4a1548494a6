"""A sensor that is opened again after it has failed."""

from __future__ import annotations

import time
from collections.abc import Callable

from keras_perf.observers.sensor import Reader, SensorError, Values

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class PersistentReader:
    """Reads `reader`; once that fails, closes it and opens another, after pauses that double.

    Arguments:
        reader: open.
        reopen: gives the next one, or raises SensorError.
        warn: told in one line of the first failure, and of no other.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        reader: Reader,
        reopen: Callable[[], Reader],
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader: Reader | None = reader
        self._reopen, self._warn, self._clock = reopen, warn, clock
        self._warned = False
        self._pause_s = FIRST_PAUSE_S
        self._due = 0.0

    def read(self) -> Values:
        """What the sensor says; nothing while it is away."""
        if self._reader is None and self._clock() < self._due:
            return {}
        try:
            if self._reader is None:
                self._reader = self._reopen()
            values = self._reader.read()
        except SensorError as error:
            self._fails(error)
            return {}
        self._pause_s = FIRST_PAUSE_S
        return values

    def _fails(self, error: SensorError) -> None:
        self.close()
        self._due = self._clock() + self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
        if not self._warned:
            self._warned = True
            self._warn(f"keras_perf: {error}; its values are missing until it answers again.")

    def close(self) -> None:
        """Closes the sensor; safe to call twice."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
