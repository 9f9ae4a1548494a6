"""Reads sensors in the background and sums up what they say."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keras_perf.observers.asking import unwarned
from keras_perf.observers.sensors.aggregation import Aggregate
from keras_perf.observers.sensors.phases import Phases
from keras_perf.observers.sensors.sensor import Reader, SensorError
from keras_perf.records.arguments import require_number
from keras_perf.records.phase import Phase
from keras_perf.records.text.error_line import error_line

PATIENCE_S = 5.0
"""How long `stop` waits for a sensor that does not return, such as a driver that hangs."""


class Sampled(NamedTuple):
    """What the sensors said in an interval."""

    values: dict[str, float]
    """By tag; empty if no sample was taken."""
    training_s: float
    """How much of the interval was training."""


def sampling_interval(interval_s: object) -> float:
    """`interval_s`, if sensors can be read so often.

    Raises:
        TypeError: not a number.
        ValueError: not above 0, or not finite.
    """
    remedy = "The default is 0.2, five samples a second."
    return require_number("interval_s", interval_s, above=0, remedy=remedy)


class BackgroundSampler:
    """A daemon thread that reads every `interval_s` without drift, until `stop`.

    In a forked child there is no such thread: there it says nothing and leaves the sensors,
    which are the parent's, alone.

    Arguments:
        readers: sensors; closed when the thread ends.
        interval_s: seconds between two samples.
        warn: told once, in one line, when a sensor fails; its values are missing from then on.
        clock: monotonic seconds.
        phase: what training is doing now.
        after_sample: called in the thread after each sample.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        interval_s: float,
        warn: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        phase: Phase = Phase.BETWEEN,
        after_sample: Callable[[], None] = lambda: None,
    ) -> None:
        self._clock = clock
        self._readers = list(readers)
        self._interval_s = interval_s
        self._warn = warn
        self._after_sample = after_sample
        self._aggregate = Aggregate()
        self._taken = self._sampled = clock()
        self._phases = Phases(self._taken, phase)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keras_perf-sampler", daemon=True)

    def start(self) -> None:
        """Begins to sample; where the system gives no thread, says so and samples nothing."""
        atexit.register(self.stop)
        try:
            self._thread.start()
        except RuntimeError as error:
            self._warn(f"keras_perf: {error}: nothing is sampled.")
            self.stop()

    def enter(self, phase: Phase) -> None:
        """Training does this from now on."""
        self._phases.begin(self._clock(), phase)

    def take(self) -> Sampled:
        """What was sampled since the last call."""
        if os.getpid() != self._process:
            return Sampled({}, 0.0)
        begin, self._taken = self._taken, self._clock()
        spent = self._phases.seconds(begin, self._taken)
        self._phases.forget(min(self._taken, self._sampled))
        with self._lock:
            return Sampled(self._aggregate.take(), spent.get(Phase.TRAINING, 0.0))

    def stop(self) -> None:
        """Ends the thread and closes the sensors; safe to call twice."""
        if os.getpid() != self._process:
            return
        # First of all: from here on the thread ends by itself, even if we are interrupted.
        self._stop.set()
        atexit.unregister(self.stop)
        if self._thread.is_alive():
            self._thread.join(PATIENCE_S)
        if not self._thread.is_alive():
            self._close()
        elif self._readers:
            self._warn(
                f"keras_perf: a sensor did not answer within {PATIENCE_S:g} s: its figures are "
                "missing since then. A driver may hang: see nvidia-smi and dmesg."
            )

    def _close(self) -> None:
        while self._readers:
            self._close_one(self._readers.pop())

    def _close_one(self, reader: Reader) -> None:
        try:
            reader.close()
        except Exception as error:  # noqa: BLE001  one sensor's end is not the others'
            self._warn(f"keras_perf: a sensor cannot be closed ({error_line(error)}).")

    def _run(self) -> None:
        self._sampled = self._clock()
        due = self._sampled + self._interval_s
        try:
            while not self._stop.wait(max(0.0, due - self._clock())):
                now = self._clock()
                self.sample(now)
                self._after_sample()
                # The next multiple of the interval after now: no drift, no catching up.
                due += self._interval_s * (1 + max(0, int((now - due) / self._interval_s)))
        finally:
            # Here, and not in `stop`, which gives up on a driver that hangs.
            self._close()

    def sample(self, now: float) -> None:
        """One sample of every sensor, standing for the time since the one before."""
        seconds = self._phases.seconds(self._sampled, now)
        self._sampled = now
        for reader in list(self._readers):
            try:
                values = unwarned(reader.read)
                with self._lock:
                    self._aggregate.add(values, seconds)
            except Exception as error:  # noqa: BLE001  one sensor's end is not the others'
                self._readers.remove(reader)
                self._close_one(reader)
                what = str(error) if isinstance(error, SensorError) else error_line(error)
                self._warn(f"keras_perf: {what}; its values are missing from now on.")
