"""CPU and memory, from a scripted psutil."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from keras_perf.observers import host
from keras_perf.observers.host import HostReader
from keras_perf.records.metrics import HOST_METRICS

MIB = 1024 * 1024

TAGS = [m.tag for m in HOST_METRICS if m.tag != "host/interpreter_wait_ms"]
"""Of the host, without what is no sensor of the system's."""


class ScriptedPsutil(SimpleNamespace):
    """The machine is at 30 %, this process at 250 %; the first answers mean nothing."""

    def __init__(self) -> None:
        self._machine, self._own = [0.0, 30.0], [0.0, 250.0]
        self._read = [1 * MIB, 9 * MIB]
        self.Error = RuntimeError

    def cpu_percent(self) -> float:
        return self._machine.pop(0)

    def virtual_memory(self) -> SimpleNamespace:
        return SimpleNamespace(used=3 * MIB)

    def Process(self) -> SimpleNamespace:  # noqa: N802  psutil's name
        return SimpleNamespace(
            oneshot=contextlib.nullcontext,
            cpu_percent=lambda: self._own.pop(0),
            memory_info=lambda: SimpleNamespace(rss=MIB // 2),
            io_counters=lambda: SimpleNamespace(read_bytes=self._read.pop(0)),
        )


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def reader(monkeypatch, now) -> HostReader:
    monkeypatch.setattr(host, "psutil", ScriptedPsutil())
    reader = HostReader(lambda: now[0])
    # What psutil says first compares with nothing.
    assert reader.read() == {}
    return reader


def test_a_sample_has_the_units_of_its_tags(reader, now):
    now[0] += 2.0
    assert reader.read() == {
        "host/cpu_pct": 30.0,
        "host/process_cpu_pct": 250.0,
        "host/memory_used_mib": 3.0,
        "host/process_memory_mib": 0.5,
        "host/read_mib_per_sec": 4.0,
    }


def test_a_system_that_does_not_count_what_is_read_leaves_it_out(monkeypatch):
    class Uncounted(ScriptedPsutil):
        def Process(self) -> SimpleNamespace:  # noqa: N802  psutil's name
            process = super().Process()
            del process.io_counters
            return process

    monkeypatch.setattr(host, "psutil", Uncounted())
    times = iter((0.0, 1.0))
    reader = HostReader(lambda: next(times))
    reader.read()
    assert set(reader.read()) == set(TAGS) - {"host/read_mib_per_sec"}


def test_every_host_metric_is_read(reader, now):
    now[0] += 1.0
    assert list(reader.read()) == TAGS


def test_asked_again_at_once_it_has_nothing_new(reader, now):
    now[0] += host.EVERY_S / 2
    assert reader.read() == {}


def test_a_real_machine_answers():
    times = iter((0.0, 1.0))
    reader = HostReader(lambda: next(times))
    reader.read()
    assert min(reader.read().values()) >= 0
    reader.close()
    reader.close()
