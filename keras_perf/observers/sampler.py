"""Reads sensors in the background and averages them over time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from keras_perf.observers.nvml import SensorError


class Reader(Protocol):
    """A sensor."""

    def read(self) -> Mapping[str, float]:
        """Tag → value; raises SensorError when it has failed for good."""

    def close(self) -> None:
        """Gives back what it holds."""


class TimeWeightedMean:
    """Mean of samples, each weighted by the time since the one before.

    A late sample stands for the longer time it took, so a busy machine does not skew the mean.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    def add(self, values: Mapping[str, float], seconds: float) -> None:
        """One sample that stands for the last `seconds`."""
        for tag, value in values.items():
            self._sums[tag] = self._sums.get(tag, 0.0) + value * seconds
            self._weights[tag] = self._weights.get(tag, 0.0) + seconds

    def take(self) -> dict[str, float]:
        """Means since the last call, and a new beginning."""
        means = {t: s / self._weights[t] for t, s in self._sums.items() if self._weights[t] > 0}
        self._sums.clear()
        self._weights.clear()
        return means


class BackgroundSampler:
    """A daemon thread that reads every `interval_s` without drift, until `stop`.

    Arguments:
        readers: sensors; closed by `stop`.
        interval_s: seconds between two samples.
        warn: told once, in one line, when a sensor fails; its values are missing from then on.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        interval_s: float,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._readers = list(readers)
        self._interval_s = interval_s
        self._warn = warn
        self._mean = TimeWeightedMean()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keras_perf-sampler", daemon=True)

    def start(self) -> None:
        """Begins to sample."""
        self._thread.start()

    def take(self) -> dict[str, float]:
        """Time-weighted means since the last call; empty if no sample was taken since."""
        with self._lock:
            return self._mean.take()

    def stop(self) -> None:
        """Ends the thread and closes the sensors; safe to call twice."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        for reader in self._readers:
            reader.close()
        self._readers.clear()

    def _run(self) -> None:
        last = self._clock()
        due = last + self._interval_s
        while not self._stop.wait(max(0.0, due - self._clock())):
            now = self._clock()
            self.sample(now - last)
            last = now
            # The next multiple of the interval after now: no drift, no catching up.
            due += self._interval_s * (1 + max(0, int((now - due) / self._interval_s)))

    def sample(self, seconds: float) -> None:
        """One sample of every sensor, standing for the last `seconds`."""
        for reader in list(self._readers):
            try:
                values = reader.read()
            except Exception as error:  # noqa: BLE001  one sensor's end is not the others'
                self._readers.remove(reader)
                reader.close()
                what = str(error) if isinstance(error, SensorError) else repr(error)
                self._warn(f"keras_perf: {what}; its values are missing from now on.")
                continue
            with self._lock:
                self._mean.add(values, seconds)
