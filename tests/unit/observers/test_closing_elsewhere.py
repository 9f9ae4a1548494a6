"""A run that is closed in a thread of its own, and who waits for that."""

from __future__ import annotations

import threading

import pytest

from keras_perf.observers import closing_elsewhere
from keras_perf.observers.closing_elsewhere import (
    close_elsewhere,
    reading_own_run,
    wait_for_those_closing,
)
from keras_perf.records.run.ending import Ending, How


class Closing:
    """Is closed once it may be."""

    def __init__(self) -> None:
        self.may, self.closed = threading.Event(), False

    def close(self, *, aborted: bool = False, ending: Ending | None = None) -> None:
        # Who closes reads its own run, and does not wait for itself.
        wait_for_those_closing()
        self.may.wait(60)
        self.closed = True


def test_a_reader_waits_for_those_closing_who_ends_a_run_does_not_and_patience_ends():
    observation = Closing()
    close_elsewhere(observation, Ending(How.RAISED))
    wait_for_those_closing(0.01)
    with reading_own_run():
        wait_for_those_closing()
    assert not observation.closed
    observation.may.set()
    wait_for_those_closing()
    assert observation.closed


def test_a_thread_that_cannot_be_started_is_waited_for_by_nobody(monkeypatch):
    def fails(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fails)
    with pytest.raises(RuntimeError, match="new thread"):
        close_elsewhere(Closing(), Ending(How.RAISED))
    assert closing_elsewhere._closing == set()
