"""Time-weighted means, and a background thread on a scripted clock."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from keras_perf.observers import sampler as sampler_module
from keras_perf.observers.nvml import SensorError
from keras_perf.observers.sampler import BackgroundSampler, TimeWeightedMean


class ScriptedSensor:
    """Reads its readings one after the other; an exception among them is raised."""

    def __init__(self, *readings) -> None:
        self._readings = list(readings)
        self.closed = 0

    def read(self):
        reading = self._readings.pop(0)
        if isinstance(reading, Exception):
            raise reading
        return reading

    def close(self) -> None:
        self.closed += 1


# -- the mean ----------------------------------------------------------------------------


def test_each_sample_weighs_as_long_as_it_stands_for():
    mean = TimeWeightedMean()
    mean.add({"gpu/0/power_w": 100.0}, 3.0)
    mean.add({"gpu/0/power_w": 500.0}, 1.0)
    assert mean.take() == {"gpu/0/power_w": 200.0}


def test_a_tag_that_comes_late_is_averaged_over_its_own_time():
    mean = TimeWeightedMean()
    mean.add({"a": 1.0}, 9.0)
    mean.add({"a": 1.0, "b": 7.0}, 1.0)
    assert mean.take() == {"a": 1.0, "b": 7.0}


def test_taking_a_mean_begins_anew():
    mean = TimeWeightedMean()
    mean.add({"a": 1.0}, 1.0)
    mean.take()
    assert mean.take() == {}
    mean.add({"a": 5.0}, 1.0)
    assert mean.take() == {"a": 5.0}


def test_a_sample_that_stands_for_no_time_is_absent_and_no_zero():
    mean = TimeWeightedMean()
    mean.add({"a": 5.0}, 0.0)
    assert mean.take() == {}


# -- sampling ----------------------------------------------------------------------------


def test_all_sensors_go_into_one_mean():
    sampler = BackgroundSampler(
        [ScriptedSensor({"a": 1.0}, {"a": 3.0}), ScriptedSensor({"b": 5.0}, {"b": 5.0})], 1.0, print
    )
    sampler.sample(1.0)
    sampler.sample(1.0)
    assert sampler.take() == {"a": 2.0, "b": 5.0}
    assert sampler.take() == {}


def test_a_sensor_that_fails_warns_once_and_leaves_the_others_running():
    warnings: list[str] = []
    lost = ScriptedSensor({"gpu": 1.0}, SensorError("NVML stopped answering (GPU is lost)"))
    host = ScriptedSensor({"cpu": 1.0}, {"cpu": 2.0}, {"cpu": 3.0})
    sampler = BackgroundSampler([lost, host], 1.0, warnings.append)
    sampler.sample(1.0)
    sampler.take()
    sampler.sample(1.0)
    sampler.sample(1.0)
    assert sampler.take() == {"cpu": 2.5}
    assert warnings == [
        "keras_perf: NVML stopped answering (GPU is lost); its values are missing from now on."
    ]
    assert (lost.closed, host.closed) == (1, 0)


def test_a_sensor_that_fails_in_a_way_of_its_own_leaves_the_others_running():
    warnings: list[str] = []
    broken = ScriptedSensor(OSError("/proc/stat cannot be read"))
    gpu = ScriptedSensor({"gpu": 1.0})
    sampler = BackgroundSampler([broken, gpu], 1.0, warnings.append)
    sampler.sample(1.0)
    assert sampler.take() == {"gpu": 1.0}
    assert len(warnings) == 1
    assert "/proc/stat cannot be read" in warnings[0]


def test_stopping_closes_the_sensors_once():
    sensor = ScriptedSensor()
    sampler = BackgroundSampler([sensor], 1.0, print)
    sampler.stop()
    sampler.stop()
    assert sensor.closed == 1


# -- the thread --------------------------------------------------------------------------


class ScriptedThreads:
    """In place of `threading` and the clock: waiting moves it, a thread runs in its start."""

    def __init__(self, until: float) -> None:
        self.now, self.until = 100.0, 100.0 + until

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now > self.until

    def install(self, patch: pytest.MonkeyPatch) -> None:
        event = SimpleNamespace(wait=self.wait, set=lambda: None)
        threads = SimpleNamespace(
            Event=lambda: event,
            Lock=threading.Lock,
            Thread=lambda target, **_: SimpleNamespace(start=target, is_alive=lambda: False),
        )
        patch.setattr(sampler_module, "threading", threads)


class SlowSensor:
    """Each reading takes as long as scripted; the times of the readings are noted."""

    def __init__(self, threads: ScriptedThreads, *durations: float) -> None:
        self._threads, self._durations = threads, list(durations)
        self.read_at: list[float] = []

    def read(self):
        self.read_at.append(self._threads.now - 100.0)
        self._threads.now += self._durations.pop(0) if self._durations else 0.0
        return {"reading": float(len(self.read_at))}

    def close(self) -> None:
        pass


def test_the_time_that_reading_takes_does_not_make_the_samples_drift(monkeypatch):
    threads = ScriptedThreads(until=5.0)
    threads.install(monkeypatch)
    sensor = SlowSensor(threads, *[0.25] * 5)
    BackgroundSampler([sensor], 1.0, print, threads.monotonic).start()
    assert sensor.read_at == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_reading_that_takes_too_long_is_not_caught_up_with(monkeypatch):
    threads = ScriptedThreads(until=6.0)
    threads.install(monkeypatch)
    sensor = SlowSensor(threads, 2.5)
    BackgroundSampler([sensor], 1.0, print, threads.monotonic).start()
    assert sensor.read_at == [1.0, 3.5, 4.0, 5.0, 6.0]


def test_a_late_sample_stands_for_the_longer_time_it_took(monkeypatch):
    threads = ScriptedThreads(until=3.5)
    threads.install(monkeypatch)
    sampler = BackgroundSampler([SlowSensor(threads, 2.5)], 1.0, print, threads.monotonic)
    sampler.start()
    assert sampler.take() == {"reading": (1 * 1.0 + 2 * 2.5) / 3.5}


def test_a_stopped_sampler_leaves_no_thread_behind():
    read = threading.Event()

    class Sensor(ScriptedSensor):
        def read(self):
            read.set()
            return {"a": 1.0}

    sensor = Sensor()
    sampler = BackgroundSampler([sensor], 0.001, print)
    sampler.start()
    assert read.wait(timeout=30)
    sampler.stop()
    assert sensor.closed == 1
    assert not [t for t in threading.enumerate() if t.name == "keras_perf-sampler"]
