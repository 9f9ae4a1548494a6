"""A sensor that fails is tried again, ever less often."""

from __future__ import annotations

import pytest

from keras_perf.observers.sensors.backoff import LONGEST_PAUSE_S
from keras_perf.observers.sensors.reopening import PersistentReader
from keras_perf.observers.sensors.sensor import SensorError


class Sensor:
    """Fails with whatever is in `failing`."""

    def __init__(self) -> None:
        self.failing: str | None = None
        self.closed = 0

    def read(self):
        if self.failing:
            raise SensorError(self.failing)
        return {"gpu": 1.0}

    def close(self) -> None:
        self.closed += 1


class Bench:
    """A persistent reader on a scripted clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.first, self.second = Sensor(), Sensor()
        self.opens: list[float] = []
        self.gone = True
        self.told: list[SensorError] = []
        self.reader = PersistentReader(self.first, self.reopen, self.told.append, lambda: self.now)

    def reopen(self) -> Sensor:
        self.opens.append(self.now)
        if self.gone:
            raise SensorError("NVML does not start")
        return self.second


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_sensor_that_answers_is_read(bench):
    assert bench.reader.read() == {"gpu": 1.0}
    assert bench.opens == []


def test_a_failure_is_said_once_and_its_values_are_missing(bench):
    bench.first.failing = "GPU is lost"
    for bench.now in range(200):
        assert bench.reader.read() == {}
    assert [str(error) for error in bench.told] == ["GPU is lost"]
    assert bench.first.closed == 1


def test_it_is_opened_again_after_pauses_that_double(bench):
    bench.first.failing = "lost"
    for bench.now in range(250):
        bench.reader.read()
    assert bench.opens == [1, 3, 7, 15, 31, 63, 123, 183, 243]
    assert LONGEST_PAUSE_S == 60.0


def test_once_it_answers_again_its_values_are_there(bench):
    bench.first.failing, bench.gone = "lost", False
    assert bench.reader.read() == {}
    bench.now = 1.0
    assert bench.reader.read() == {"gpu": 1.0}
    bench.second.failing = "lost again"
    assert bench.reader.read() == {}
    bench.now = 2.0
    bench.second.failing = None
    assert bench.reader.read() == {"gpu": 1.0}
    assert len(bench.told) == 1


def test_a_failure_long_after_it_has_answered_again_is_said_too(bench):
    bench.first.failing, bench.gone = "lost", False
    bench.reader.read()
    bench.now = 3 * 24 * 3600.0
    bench.reader.read()
    bench.second.failing = "lost again"
    bench.reader.read()
    assert [str(error) for error in bench.told] == ["lost", "lost again"]


def test_closing_closes_what_is_open(bench):
    bench.reader.close()
    bench.reader.close()
    assert bench.first.closed == 1


def test_what_is_no_failure_of_a_sensor_is_not_swallowed(bench):
    bench.first.read = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        bench.reader.read()
