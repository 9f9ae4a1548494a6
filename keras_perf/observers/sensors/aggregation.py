"""From samples of sensors to the figures of an interval."""

from __future__ import annotations

from collections.abc import Sequence

from keras_perf.observers.sensors.sensor import Values
from keras_perf.records.metrics.gpu_metrics import BUSY, EXTREMES, IN_VALIDATION
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
    """Percentiles of percentages over a whole training, weighted by time, to within 1%."""

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
        self._training: dict[str, Spread] = {}
        self._validation: dict[str, Spread] = {}
        self._busy: dict[str, Percentiles] | None = None

    def add(self, values: Values, seconds: dict[Phase, float]) -> None:
        """One sample that stands for so many seconds of each phase."""
        of_s = sum(seconds.values())
        training_s, validation_s = (seconds.get(p, 0.0) for p in (Phase.TRAINING, Phase.VALIDATION))
        for tag, value in values.items():
            series = value if isinstance(value, Sequence) else (value,)
            if training_s:
                self._training.setdefault(tag, Spread()).add(series, training_s, of_s)
            if validation_s and _name(tag) in IN_VALIDATION:
                self._validation.setdefault(tag, Spread()).add(series, validation_s, of_s)
            if self._busy is not None and training_s and _name(tag) == BUSY:
                self._busy.setdefault(tag, Percentiles()).add(series, training_s)

    def take(self) -> dict[str, float]:
        """The figures since the last call, and a new beginning.

        The percentiles begin at the first call, which ends the warm-up, and never anew.
        """
        found = {tag: spread.mean for tag, spread in self._training.items()}
        for tag, spread in self._training.items():
            for word, extreme in (("min", min), ("max", max)):
                if _name(tag) in EXTREMES[word] and spread.values:
                    found[_with(tag, word)] = extreme(spread.values)
        for tag, spread in self._validation.items():
            found[_with(tag, "validation")] = spread.mean
        for tag, busy in (self._busy or {}).items():
            found |= {_with(tag, "p5"): busy.at(5), _with(tag, "p95"): busy.at(95)}
        self._busy = self._busy or {}
        self._training.clear()
        self._validation.clear()
        return found


def _name(tag: str) -> str:
    """A GPU's tag without its prefix; the host's have a name of their own."""
    return tag.rpartition("/")[2] if tag.startswith("gpu/") else tag


def _with(tag: str, word: str) -> str:
    prefix, _, name = tag.rpartition("/")
    return f"{prefix}/{word}_{name}"
