"""A background thread on a scripted clock."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from keras_perf.observers.sensors import sampler as sampler_module
from keras_perf.observers.sensors.sampler import BackgroundSampler, sampling_interval
from keras_perf.observers.sensors.sensor import SensorError
from keras_perf.records.phase import Phase


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


# -- sampling ----------------------------------------------------------------------------


class Clock:
    """Scripted; stands still until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def sampler_of(*readers, warn=print, clock=None, phase=Phase.TRAINING) -> BackgroundSampler:
    """Not started: the test samples."""
    return BackgroundSampler(readers, 1.0, warn, clock or Clock(), phase=phase)


def test_all_sensors_go_into_one_mean():
    sampler = sampler_of(
        ScriptedSensor({"a": 1.0}, {"a": 3.0}), ScriptedSensor({"b": 5.0}, {"b": 5.0})
    )
    sampler.sample(1.0)
    sampler.sample(2.0)
    assert sampler.take().values == {"a": 2.0, "b": 5.0}
    assert sampler.take().values == {}


def test_a_sample_stands_for_the_time_since_the_one_before():
    sampler = sampler_of(ScriptedSensor({"a": 100.0}, {"a": 500.0}))
    sampler.sample(3.0)
    sampler.sample(4.0)
    assert sampler.take().values == {"a": 200.0}


def test_only_training_counts_and_how_long_it_was_is_told():
    clock = Clock()
    sampler = sampler_of(
        ScriptedSensor(*({"a": value} for value in (1.0, 2.0, 3.0))),
        clock=clock,
        phase=Phase.BETWEEN,
    )
    sampler.sample(1.0)
    clock.now = 1.5
    sampler.enter(Phase.TRAINING)
    sampler.sample(2.0)
    clock.now = 3.0
    sampler.enter(Phase.VALIDATION)
    sampler.sample(4.0)
    clock.now = 5.0
    found = sampler.take()
    # Half a second of the second sample and a whole one of the third lay in training.
    assert found.values == {"a": pytest.approx((0.5 * 2.0 + 1.0 * 3.0) / 1.5)}
    assert found.training_s == 1.5
    assert sampler.take().training_s == 0.0


def test_a_sensor_that_fails_warns_once_and_leaves_the_others_running():
    warnings: list[str] = []
    lost = ScriptedSensor({"gpu": 1.0}, SensorError("NVML stopped answering (GPU is lost)"))
    host = ScriptedSensor({"cpu": 1.0}, {"cpu": 2.0}, {"cpu": 3.0})
    sampler = sampler_of(lost, host, warn=warnings.append)
    sampler.sample(1.0)
    sampler.take()
    sampler.sample(2.0)
    sampler.sample(3.0)
    assert sampler.take().values == {"cpu": 2.5}
    assert warnings == [
        "keras_perf: NVML stopped answering (GPU is lost); its values are missing from now on."
    ]
    assert (lost.closed, host.closed) == (1, 0)


def test_a_sensor_that_fails_in_a_way_of_its_own_leaves_the_others_running():
    warnings: list[str] = []
    broken = ScriptedSensor(OSError("/proc/stat cannot be read"))
    sampler = sampler_of(broken, ScriptedSensor({"gpu": 1.0}), warn=warnings.append)
    sampler.sample(1.0)
    assert sampler.take().values == {"gpu": 1.0}
    assert len(warnings) == 1
    assert "/proc/stat cannot be read" in warnings[0]


def test_stopping_closes_the_sensors_once():
    sensor = ScriptedSensor()
    sampler = sampler_of(sensor)
    sampler.stop()
    sampler.stop()
    assert sensor.closed == 1


def test_in_a_forked_child_it_says_nothing_and_leaves_the_parents_sensors_alone(monkeypatch):
    sensor = ScriptedSensor({"a": 1.0})
    sampler = sampler_of(sensor)
    sampler.sample(1.0)
    with monkeypatch.context() as patch:
        patch.setattr(sampler_module.os, "getpid", lambda: -1)
        assert sampler.take() == ({}, 0.0)
        sampler.stop()
    assert sensor.closed == 0
    assert sampler.take().values == {"a": 1.0}


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan")])
def test_an_interval_that_no_clock_can_keep_is_refused(wrong):
    with pytest.raises(ValueError, match="interval_s must be above 0 and finite, got"):
        sampling_interval(wrong)


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


def started(sensor: SlowSensor, threads: ScriptedThreads) -> BackgroundSampler:
    """Every second; its thread has run to its end."""
    sampler = BackgroundSampler([sensor], 1.0, print, threads.monotonic, phase=Phase.TRAINING)
    sampler.start()
    return sampler


def test_the_time_that_reading_takes_does_not_make_the_samples_drift(monkeypatch):
    threads = ScriptedThreads(until=5.0)
    threads.install(monkeypatch)
    sensor = SlowSensor(threads, *[0.25] * 5)
    started(sensor, threads)
    assert sensor.read_at == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_reading_that_takes_too_long_is_not_caught_up_with(monkeypatch):
    threads = ScriptedThreads(until=6.0)
    threads.install(monkeypatch)
    sensor = SlowSensor(threads, 2.5)
    started(sensor, threads)
    assert sensor.read_at == [1.0, 3.5, 4.0, 5.0, 6.0]


def test_a_late_sample_stands_for_the_longer_time_it_took(monkeypatch):
    threads = ScriptedThreads(until=3.5)
    threads.install(monkeypatch)
    sampler = started(SlowSensor(threads, 2.5), threads)
    assert sampler.take().values == {"reading": (1 * 1.0 + 2 * 2.5) / 3.5}


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


def test_a_sensor_that_hangs_does_not_hold_up_stop_and_is_closed_once_it_returns(monkeypatch):
    monkeypatch.setattr(sampler_module, "PATIENCE_S", 0.01)
    read, answer, closed = (threading.Event() for _ in range(3))

    class Hanging(ScriptedSensor):
        def read(self):
            read.set()
            answer.wait(timeout=30)
            return {}

        def close(self):
            closed.set()

    said = []
    sampler = BackgroundSampler([Hanging()], 0.001, said.append)
    sampler.start()
    assert read.wait(timeout=30)
    sampler.stop()
    assert not closed.is_set()
    [line] = said
    assert "did not answer within" in line
    answer.set()
    assert closed.wait(timeout=30)
    sampler._thread.join(timeout=30)


def test_where_the_system_gives_no_thread_it_is_said_and_the_sensors_are_given_back(monkeypatch):
    def none(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none)
    sensor, warnings = ScriptedSensor(), []
    sampler = BackgroundSampler([sensor], 1.0, warnings.append)
    sampler.start()
    assert warnings == ["keras_perf: can't start new thread: nothing is sampled."]
    assert sensor.closed == 1
    assert sampler.take().values == {}
    sampler.stop()
    assert sensor.closed == 1


def test_a_thread_that_ends_by_itself_gives_the_sensors_back(monkeypatch):
    threads = ScriptedThreads(until=5.0)
    threads.install(monkeypatch)
    sensor = ScriptedSensor(*[{"a": 1.0}] * 5)

    def broken() -> None:
        raise OSError("disk full")

    sampler = BackgroundSampler([sensor], 1.0, print, threads.monotonic, after_sample=broken)
    with pytest.raises(OSError, match="disk full"):
        sampler.start()
    assert sensor.closed == 1


@pytest.mark.fault(2, "a sensor that cannot be closed")
def test_a_sensor_that_cannot_be_closed_costs_the_others_nothing():
    class Stuck(ScriptedSensor):
        def close(self) -> None:
            raise ZeroDivisionError("no handle")

    said: list[str] = []
    other = ScriptedSensor({"b": 5.0}, {"b": 5.0})
    sampler = sampler_of(Stuck(SensorError("it is gone")), other, warn=said.append)
    sampler.sample(1.0)
    sampler.sample(2.0)
    assert sampler.take().values == {"b": 5.0}
    sampler.stop()
    assert other.closed == 1
    assert said == [
        "keras_perf: a sensor cannot be closed (ZeroDivisionError: no handle).",
        "keras_perf: it is gone; its values are missing from now on.",
    ]


def test_an_interrupted_stop_ends_the_thread_all_the_same(monkeypatch):
    sensor = ScriptedSensor()
    sampler = BackgroundSampler([sensor], 60.0, print)
    sampler.start()

    def interrupted(self, timeout=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "join", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sampler.stop()
    sampler._thread.join(5)
    assert not sampler._thread.is_alive()
    assert sensor.closed == 1
