"""Pauses of Python's garbage collector, which is run for real, by a scripted clock."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from keras_perf.observers.steps.garbage import CollectorPauses


class ScriptedClock:
    """Each reading is ten later than the one before."""

    def __init__(self) -> None:
        self.now = 90

    def __call__(self) -> int:
        self.now += 10
        return self.now


class Scripted:
    """A watch, and what it has told."""

    def __init__(self) -> None:
        self.pauses: list[tuple[int, int]] = []
        self.clock = ScriptedClock()
        self.watch = CollectorPauses(
            self.clock, lambda begin, end: self.pauses.append((begin, end))
        )
        self.watch.start()


@pytest.fixture(autouse=True)
def only_what_is_new_is_searched():
    """A collection searches no object of the tests before, which may be millions.

    Nor after it: to search them once more would take half a minute.
    """
    gc.freeze()


@pytest.fixture(autouse=True)
def no_collection_but_ours() -> Iterator[None]:
    """Nothing is collected unless the test says so, and no watch is left behind."""
    before = list(gc.callbacks)
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    if was_enabled:
        gc.enable()
    assert gc.callbacks == before


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    found = Scripted()
    yield found
    found.watch.stop()


def test_each_collection_is_told_with_begin_and_end(scripted):
    gc.collect()
    gc.collect(0)
    assert scripted.pauses == [(100, 110), (120, 130)]


def test_without_a_collection_nothing_is_told(scripted):
    assert scripted.pauses == []


def test_a_collection_in_another_thread_is_not_told(scripted):
    other = threading.Thread(target=gc.collect)
    other.start()
    other.join()
    assert scripted.pauses == []
    gc.collect()
    assert scripted.pauses == [(100, 110)]


def test_a_watch_belongs_to_the_thread_that_made_it():
    made: list[Scripted] = []

    def make_and_collect() -> None:
        made.append(Scripted())
        gc.collect()

    other = threading.Thread(target=make_and_collect)
    other.start()
    other.join()
    gc.collect()
    made[0].watch.stop()
    assert made[0].pauses == [(100, 110)]


def test_a_stopped_watch_tells_nothing_and_is_gone(scripted):
    scripted.watch.stop()
    gc.collect()
    assert scripted.pauses == []


def test_a_watch_may_be_stopped_twice(scripted):
    scripted.watch.stop()
    scripted.watch.stop()
    gc.collect()
    assert scripted.pauses == []


def test_two_watches_do_not_stop_each_other(scripted):
    second = Scripted()
    second.watch.stop()
    gc.collect()
    assert second.pauses == []
    assert scripted.pauses == [(100, 110)]


def test_a_watch_that_begins_within_a_collection_does_not_tell_its_end(scripted):
    hear = gc.callbacks[-1]
    hear("stop", {"generation": 2, "collected": 0, "uncollectable": 0})
    assert scripted.pauses == []
