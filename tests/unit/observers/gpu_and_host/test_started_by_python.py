"""CPU time of threads and processes that Python starts: scripted, and of some that compute."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from keras_perf.observers.sensors import started_by_python
from keras_perf.observers.sensors.started_by_python import child_processes, python_threads

TAG = "host/python_threads_cpu_pct"
MS = 1_000_000
NAMES = {2: "keras_perf-sampler", 6: "Dummy-3"}


class Scripted:
    """Threads by their numbers, and what each has computed; 1 and 7 are there before the reader."""

    def __init__(self, monkeypatch) -> None:
        self.now = 100.0
        self.ms: dict[int, float] = {1: 500.0, 7: 10.0}
        monkeypatch.setattr(started_by_python.threading, "enumerate", self._threads)
        self.reader = python_threads(
            lambda: self.now, lambda number: int(self.ms.get(number, 1.0) * MS)
        )

    def _threads(self) -> list[SimpleNamespace]:
        return [
            SimpleNamespace(native_id=n, ident=n, name=NAMES.get(n, "Thread-9")) for n in self.ms
        ]

    def after(self, seconds: float, ms: dict[int, float]) -> dict[str, float]:
        self.now += seconds
        self.ms = ms
        return self.reader.read()


@pytest.fixture
def scripted(monkeypatch) -> Scripted:
    return Scripted(monkeypatch)


def test_threads_that_python_has_started_since_are_added_up(scripted):
    assert scripted.after(1.0, {1: 900.0, 2: 50.0, 3: 100.0, 4: 200.0, 6: 1.0, 7: 20.0}) == {}
    after = {1: 2900.0, 2: 90.0, 3: 600.0, 4: 500.0, 6: 800.0, 7: 900.0}
    assert scripted.after(2.0, after) == {TAG: pytest.approx(40.0)}


def test_one_that_is_new_counts_from_its_begin_and_one_that_has_ended_no_longer(scripted):
    scripted.after(1.0, {1: 900.0, 3: 100.0, 4: 200.0})
    assert scripted.after(1.0, {1: 900.0, 5: 300.0}) == {TAG: pytest.approx(30.0)}
    # The system gives its number again.
    assert scripted.after(1.0, {1: 900.0, 5: 100.0}) == {TAG: 0.0}


def test_where_the_system_does_not_tell_nothing_is_said():
    for reader_of in (python_threads, child_processes):
        reader = reader_of(computed_ns=lambda number: 0)
        assert (reader.read(), reader.read()) == ({}, {})


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
def test_linux_makes_the_number_of_a_threads_clock_as_it_is_made_here():
    clock = time.pthread_getcpuclockid(threading.get_ident())
    assert clock == ~threading.get_native_id() << 3 | 6


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
def test_and_that_of_a_processs_clock():
    system = ctypes.CDLL(None, use_errno=True)
    clock = ctypes.c_int()
    assert system.clock_getcpuclockid(os.getpid(), ctypes.byref(clock)) == 0
    assert clock.value == ~os.getpid() << 3 | 2


@pytest.mark.parametrize("error", [AttributeError, OSError, OverflowError])
def test_where_the_system_has_no_such_clock_it_is_no_error(monkeypatch, error):
    def fails(clock: int) -> int:
        raise error("on purpose")

    monkeypatch.setattr(started_by_python.time, "clock_gettime_ns", fails)
    for reader in (python_threads(), child_processes()):
        assert (reader.read(), reader.read()) == ({}, {})


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
def test_a_thread_that_computes_is_seen():
    stop, took = threading.Event(), []

    def compute() -> None:
        while not stop.is_set():
            sum(range(1000))
        took.append(time.thread_time())

    begin, reader = time.monotonic(), python_threads()
    reader.read()
    worker = threading.Thread(target=compute)
    worker.start()
    time.sleep(0.5)
    pct = reader.read()[TAG]
    read_s = time.monotonic() - begin
    number = worker.native_id
    assert number is not None
    stop.set()
    worker.join()
    # It goes on while it is read, and before it is told to stop.
    assert 0 < pct / 100 * read_s <= took[0] * 1.05
    # To Python it ends a little sooner than to the system.
    while started_by_python._of_thread(number):
        time.sleep(0.01)
    reader.close()


# -- processes ---------------------------------------------------------------------------

OF_CHILDREN = "host/child_processes_cpu_pct"


def closed() -> int:
    raise ValueError("process object is closed")


class Child:
    """A process of `multiprocessing`, as far as it is looked at."""

    def __init__(self, pid: Callable[[], int | None]) -> None:
        self._pid = pid

    @property
    def pid(self) -> int | None:
        return self._pid()


def test_processes_that_python_has_started_are_added_up(monkeypatch):
    now, ms = 100.0, {11: 400.0, 12: 0.0}
    children = {Child(lambda: 11), Child(lambda: None), Child(closed)}
    monkeypatch.setattr(started_by_python.process, "_children", children)
    reader = child_processes(lambda: now, lambda number: int(ms.get(number, 1.0) * MS))
    assert reader.read() == {}
    now, ms[11] = 102.0, 1400.0
    assert reader.read() == {OF_CHILDREN: pytest.approx(50.0)}
    children.add(Child(lambda: 12))
    now, ms[12] = 104.0, 500.0
    assert reader.read() == {OF_CHILDREN: pytest.approx(25.0)}
    children.clear()
    now = 106.0
    assert reader.read() == {OF_CHILDREN: 0.0}


def test_where_python_keeps_no_such_set_nothing_is_said(monkeypatch):
    monkeypatch.delattr(started_by_python.process, "_children")
    reader = child_processes()
    assert (reader.read(), reader.read()) == ({}, {})
