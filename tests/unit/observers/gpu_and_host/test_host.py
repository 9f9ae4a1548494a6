"""CPU and memory, from a scripted psutil."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest

from keras_perf.observers.sensors import host
from keras_perf.observers.sensors.host import HostReader
from keras_perf.records.metrics.host_metrics import HOST_METRICS

MIB = 1024 * 1024

OF_OTHER_READERS = (
    "host/interpreter_wait_ms",
    "host/python_threads_cpu_pct",
    "host/child_processes_cpu_pct",
    "host/process_core_wait_pct",
    "host/container_throttled_pct",
)
TAGS = [m.tag for m in HOST_METRICS if m.tag not in OF_OTHER_READERS]
"""Of the host, without what other readers tell."""


class ScriptedPsutil(SimpleNamespace):
    """The machine is at 30%, this process at 250%; the first answers mean nothing."""

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
            cpu_percent=lambda: self._own.pop(0),
            memory_info=lambda: SimpleNamespace(rss=MIB // 2),
            io_counters=lambda: SimpleNamespace(read_bytes=self._read.pop(0)),
        )


@pytest.fixture(autouse=True)
def may_use_all_cores(monkeypatch):
    """As nobody may who runs the tests on a part of a machine."""
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(host.os, "cpu_count", lambda: 1)


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def reader(monkeypatch, now, said) -> HostReader:
    monkeypatch.setattr(host, "psutil", ScriptedPsutil())
    reader = HostReader(said.append, lambda: now[0])
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
    reader = HostReader(print, lambda: next(times))
    reader.read()
    assert set(reader.read()) == set(TAGS) - {"host/read_mib_per_sec"}


def test_every_host_metric_is_read(reader, now):
    now[0] += 1.0
    assert list(reader.read()) == TAGS


@pytest.mark.parametrize(
    ("mine", "expected"), [({0, 1, 2, 3}, 30.0), ({1}, 100.0), ({1, 2}, 60.0), ({7}, 32.5)]
)
def test_of_the_cpus_those_count_that_the_process_may_run_on(monkeypatch, mine, expected):
    machine = ScriptedPsutil()
    machine.cpu_percent = lambda percpu=False: [10.0, 100.0, 20.0, 0.0] if percpu else 30.0
    monkeypatch.setattr(host, "psutil", machine)
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _: mine, raising=False)
    monkeypatch.setattr(host.os, "cpu_count", lambda: 4)
    times = iter((0.0, 1.0))
    reader = HostReader(print, lambda: next(times))
    reader.read()
    assert reader.read()["host/cpu_pct"] == pytest.approx(expected)


def test_asked_again_at_once_it_has_nothing_new(reader, now):
    now[0] += host.EVERY_S / 2
    assert reader.read() == {}


def test_a_real_machine_answers():
    times = iter((0.0, 1.0))
    reader = HostReader(print, lambda: next(times))
    reader.read()
    assert min(reader.read().values()) >= 0
    reader.close()
    reader.close()


def no_process():
    raise PermissionError("/proc is hidden")


@pytest.mark.fault(2, "a value of the host that the system hides")
@pytest.mark.parametrize(
    ("name", "fails", "missing"),
    [
        ("virtual_memory", no_process, {"host/memory_used_mib"}),
        ("cpu_percent", no_process, {"host/cpu_pct"}),
        ("Process", no_process, {"host/process_cpu_pct", "host/process_memory_mib"}),
    ],
)
def test_what_the_system_does_not_tell_costs_no_other_value(
    name, fails, missing, reader, now, said, monkeypatch
):
    reader = HostReader(said.append, lambda: now[0])
    monkeypatch.setattr(host, "psutil", ScriptedPsutil())
    monkeypatch.setattr(host.psutil, name, fails)
    found = [reader.read()]
    for _ in range(2):
        now[0] += 1.0
        host.psutil._machine, host.psutil._own = [1.0], [1.0]
        host.psutil._read = [MIB]
        found.append(reader.read())
    assert set(TAGS) - set(found[1]) - {"host/read_mib_per_sec"} == missing
    [line] = said
    assert "PermissionError: /proc is hidden" in line
    assert all(tag in line for tag in missing)


def test_a_warning_made_an_error_costs_no_value(reader, now, said, monkeypatch):
    def memory():
        warnings.warn("psutil has changed", RuntimeWarning, stacklevel=2)
        return SimpleNamespace(used=3 * MIB)

    monkeypatch.setattr(host.psutil, "virtual_memory", memory)
    now[0] += 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(reader.read()) == TAGS
    assert said == []
