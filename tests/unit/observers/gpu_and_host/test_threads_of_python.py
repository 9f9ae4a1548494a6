"""CPU time of Python's threads, scripted, and of one that computes."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from keras_perf.observers.sensors import python_threads
from keras_perf.observers.sensors.python_threads import EVERY_S, PythonThreadsReader

TAG = "host/python_threads_cpu_pct"
MS = 1_000_000


class Scripted:
    """Threads by their numbers, and what each has computed; all clocks stand still."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.ms = 100.0, {1: 500.0}
        self.names = {2: "keras_perf-sampler"}
        me = threading.get_ident()
        monkeypatch.setattr(
            python_threads.threading,
            "enumerate",
            lambda: [
                SimpleNamespace(native_id=n, ident=me if n == 1 else n, name=self.names.get(n, "t"))
                for n in self.ms
            ],
        )
        self.reader = PythonThreadsReader(lambda: self.now, lambda n: int(self.ms[n] * MS))

    def after(self, seconds: float, ms: dict[int, float]) -> dict[str, float]:
        self.now += seconds
        self.ms = ms
        return self.reader.read()


@pytest.fixture
def scripted(monkeypatch) -> Scripted:
    return Scripted(monkeypatch)


def test_threads_beside_the_one_that_trains_and_ours_are_added_up(scripted):
    assert scripted.after(1.0, {1: 900.0, 2: 50.0, 3: 100.0, 4: 200.0}) == {}
    found = scripted.after(2.0, {1: 2900.0, 2: 90.0, 3: 600.0, 4: 500.0})
    assert found == {TAG: pytest.approx(40.0)}
    assert scripted.after(EVERY_S / 2, {1: 3000.0, 3: 700.0, 4: 500.0}) == {}


def test_one_that_is_new_counts_from_its_begin_and_one_that_has_ended_no_longer(scripted):
    scripted.after(1.0, {1: 900.0, 3: 100.0, 4: 200.0})
    assert scripted.after(1.0, {1: 900.0, 5: 300.0}) == {TAG: pytest.approx(30.0)}
    # The system gives its number again.
    assert scripted.after(1.0, {1: 900.0, 5: 100.0}) == {TAG: 0.0}


def test_where_nobody_tells_nothing_is_said(monkeypatch):
    monkeypatch.setattr(python_threads, "Path", lambda name: python_threads_missing(name))
    other = threading.Thread(target=time.sleep, args=[0.5], daemon=True)
    other.start()
    now = iter((1.0, 2.0))
    reader = PythonThreadsReader(lambda: next(now))
    assert (reader.read(), reader.read()) == ({}, {})


def python_threads_missing(name: str) -> SimpleNamespace:
    def read_text() -> str:
        raise FileNotFoundError(name)

    return SimpleNamespace(read_text=read_text, exists=lambda: False)


def test_a_thread_that_computes_is_seen():
    stop, took = threading.Event(), []

    def compute() -> None:
        while not stop.is_set():
            sum(range(1000))
        took.append(time.thread_time())

    begin, reader = time.monotonic(), PythonThreadsReader()
    reader.read()
    worker = threading.Thread(target=compute)
    worker.start()
    time.sleep(2 * EVERY_S)
    pct = reader.read()[TAG]
    read_s = time.monotonic() - begin
    stop.set()
    worker.join()
    # It goes on while it is read, and before it is told to stop.
    assert 0 < pct / 100 * read_s <= took[0] * 1.05
    reader.close()
