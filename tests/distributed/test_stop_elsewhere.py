"""A loop that does not run in the main thread, as in Ray Train's workers."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

from keras_perf.loop import StopOnSignal


def test_outside_of_the_main_thread_signals_are_left_as_they_were():
    def enter():
        with StopOnSignal() as stop:
            return stop.asked, signal.getsignal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(enter).result() == (False, before)
    assert signal.getsignal(signal.SIGTERM) == before
