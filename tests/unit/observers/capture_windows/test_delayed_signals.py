"""Signals that come in the middle of what must not be interrupted."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

import pytest

from keras_perf.observers.delayed_signals import interruptible, uninterrupted


@pytest.fixture(autouse=True)
def handlers_are_left_as_they_were():
    """Those of a terminal, whatever these tests were started from; in the background SIGINT is
    ignored."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    after = {number: signal.signal(number, handler) for number, handler in before.items()}
    assert after == usual


def test_ctrl_c_is_raised_after_all_has_been_done():
    done = []

    def work():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all"]


def test_without_a_signal_nothing_happens():
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_whoever_listens_to_sigterm_hears_it_later():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard == []
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_nobody_listens_to_is_left_to_the_system():
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with uninterrupted():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_error_inside_is_not_lost():
    def fails():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            raise OSError("disk full")

    with pytest.raises(KeyboardInterrupt) as raised:
        fails()
    assert isinstance(raised.value.__context__, OSError)


def test_another_thread_is_never_interrupted_and_changes_nothing():
    seen = []

    def work():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


def test_after_some_patience_ctrl_c_is_answered_inside():
    done = []

    def hangs():
        with uninterrupted(0.01):
            try:
                done.append("began")
                os.kill(os.getpid(), signal.SIGINT)
                threading.Event().wait(60)
                done.append("all")
            finally:
                done.append("given back")

    with pytest.raises(KeyboardInterrupt):
        hangs()
    assert done == ["began", "given back"]


def test_with_patience_too_it_is_raised_after_all_has_been_done():
    done = []

    def work():
        with uninterrupted(60.0):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("all")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all"]


def try_in(done):
    """What may be interrupted, and whether it was."""
    try:
        with interruptible():
            done.append("tried")
    except KeyboardInterrupt:
        done.append("ended")


def test_ctrl_c_that_came_before_what_may_be_interrupted_ends_it_and_nothing_else():
    done = []
    with suppress(KeyboardInterrupt):
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("taken")
            try_in(done)
            try_in(done)
        with uninterrupted():
            try_in(done)
    assert done == ["taken", "ended", "tried", "tried"]


def test_sigterm_that_came_before_it_is_answered_at_the_end_too():
    heard, done = [], []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            try_in(done)
            assert heard == []
        assert (heard, done) == ([signal.SIGTERM], ["ended"])
    finally:
        signal.signal(signal.SIGTERM, before)
