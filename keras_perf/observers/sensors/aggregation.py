"""From samples of sensors to the figures of an interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from keras_perf.observers.sensors.sensor import Values
from keras_perf.records.gpu_metrics import BUSY, BY_PHASE, EXTREMES
from keras_perf.records.phase import Phase


class Spread:
    """Mean and values of one sensor in one phase; each value stands for a time.

    A late sample stands for the longer time it took, so a busy machine does not skew the mean.

    Attributes:
        values: of the samples that lay in the phase for half of their time or more.
    """

    def __init__(self) -> None:
        self._seconds = self._sum = 0.0
        self.values: list[float] = []

    def add(self, values: Sequence[float], seconds: float, of_s: float) -> None:
        """Equally spaced values over the last `of_s`, of which `seconds` lay in the phase."""
        self._seconds += seconds
        self._sum += sum(values) / len(values) * seconds
        if seconds >= of_s / 2:
            self.values += values

    @property
    def mean(self) -> float:
        """Weighted by time."""
        return self._sum / self._seconds


class Percentiles:
    """Percentiles of percentages over a whole training, weighted by time, to within 1 %."""

    def __init__(self) -> None:
        self._seconds = [0.0] * 101

    def add(self, values: Sequence[float], seconds: float) -> None:
        """Equally spaced values over the last `seconds`."""
        for value in values:
            self._seconds[min(100, max(0, round(value)))] += seconds / len(values)

    def at(self, percent: float) -> float:
        """The value below which `percent` of the time lies."""
        left = percent / 100 * sum(self._seconds)
        for value, seconds in enumerate(self._seconds):
            left -= seconds
            if left <= 0:
                return float(value)
        return 100.0


class Aggregate:
    """Samples since the last `take`, by phase and tag."""

    def __init__(self) -> None:
        self._spreads: dict[Phase, dict[str, Spread]] = {phase: {} for phase in Phase}
        self._busy: dict[str, Percentiles] | None = None

    def add(self, values: Values, seconds: dict[Phase, float]) -> None:
        """One sample that stands for so many seconds of each phase."""
        of_s = sum(seconds.values())
        for tag, value in values.items():
            series = value if isinstance(value, Sequence) else (value,)
            for phase, spent in seconds.items():
                self._spreads[phase].setdefault(tag, Spread()).add(series, spent, of_s)
            spent = seconds.get(Phase.TRAINING, 0.0)
            if self._busy is not None and spent and _name(tag) == BUSY:
                self._busy.setdefault(tag, Percentiles()).add(series, spent)

    def take(self) -> dict[str, float]:
        """The figures since the last call, and a new beginning.

        The percentiles begin at the first call, which ends the warm-up, and never anew.
        """
        training = self._spreads[Phase.TRAINING]
        found = {tag: spread.mean for tag, spread in training.items()}
        for tag, spread in training.items():
            if _name(tag) in EXTREMES and spread.values:
                found[_with(tag, "min")] = min(spread.values)
                found[_with(tag, "max")] = max(spread.values)
            if _name(tag) == BUSY and (nonzero := [v for v in spread.values if v > 0]):
                found[_with(tag, "median_nonzero")] = statistics.median(nonzero)
        for phase in (Phase.VALIDATION, Phase.BETWEEN):
            for tag, spread in self._spreads[phase].items():
                if _name(tag) in BY_PHASE:
                    found[_with(tag, phase.value)] = spread.mean
        for tag, busy in (self._busy or {}).items():
            found |= {_with(tag, "p5"): busy.at(5), _with(tag, "p95"): busy.at(95)}
        self._busy = self._busy or {}
        for spreads in self._spreads.values():
            spreads.clear()
        return found


def _name(tag: str) -> str:
    """A GPU's tag without its prefix; the host's have a name of their own."""
    return tag.rpartition("/")[2] if tag.startswith("gpu/") else tag


def _with(tag: str, word: str) -> str:
    prefix, _, name = tag.rpartition("/")
    return f"{prefix}/{word}_{name}"
