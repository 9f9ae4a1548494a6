"""When executions on JAX are known to be done, from their logs: seen at once, later, or never."""

import threading

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from keras_perf.backends.jax_steps import StandIn
from keras_perf.observers.steps.overlapping import OverlappingTimeline
from keras_perf.records.execution import Kind


class Log:
    """A log of a step: nobody knows when it is ready, or it was deleted."""

    def __init__(self):
        self.done, self.deleted = threading.Event(), False

    def _there(self):
        if self.deleted:
            raise RuntimeError("Array has been deleted.")

    def is_ready(self):
        self._there()
        return self.done.is_set()

    def block_until_ready(self):
        self._there()
        assert self.done.wait(20)


@pytest.fixture
def training():
    """A stand-in whose clock counts, and what calls it with a step's log and returns its row."""
    timeline, ticks = OverlappingTimeline(), iter(range(1, 1000))
    stand_in = StandIn(timeline, lambda: next(ticks))

    def step(log):
        def execute(_):
            timeline.begin(next(ticks), next(ticks), 0, 1, Kind.STEADY)
            return {"loss": log}, None

        stand_in.execute = execute
        stand_in(None, iter(()))
        return timeline.newest

    yield stand_in, step
    stand_in.let_go()


def test_each_is_done_when_the_next_call_finds_it_so_whatever_hooks_wait_for(training):
    _, step = training
    logs = [Log() for _ in range(3)]
    first, second = step(logs[0]), step(logs[1])
    assert not first.ready
    assert not second.ready
    for log in logs[:2]:
        log.done.set()
    step(logs[2])
    assert 0 < first.ready < second.ready


def test_another_thread_may_let_go_of_all_while_one_is_asked(training):
    stand_in, step = training
    log = Log()
    log.is_ready = lambda: (stand_in.let_go(), True)[1]
    assert step(log).ready


def test_what_another_thread_has_told_first_stays(training):
    _, step = training
    log = Log()
    row = step(log)
    row.ready = 7
    log.done.set()
    step(Log())
    assert row.ready == 7


def test_of_a_deleted_log_nothing_is_told_and_later_ones_are(training):
    _, step = training
    deleted, log = Log(), Log()
    unknown, known = step(deleted), step(log)
    deleted.deleted = True
    log.done.set()
    step(Log())
    assert not unknown.ready
    assert known.ready


def test_at_an_epoch_s_end_a_thread_waits_for_the_last_ones_and_ends(training):
    stand_in, step = training
    log = Log()
    row = step(log)
    stand_in.await_the_rest()
    assert not row.ready
    log.done.set()
    stand_in.let_go()
    assert row.ready


def test_without_a_thread_to_spare_training_goes_on(training, monkeypatch):
    stand_in, step = training

    def fails(_):
        raise RuntimeError("can't start new thread")

    row = step(Log())
    monkeypatch.setattr(threading.Thread, "start", fails)
    stand_in.await_the_rest()
    assert not row.ready
