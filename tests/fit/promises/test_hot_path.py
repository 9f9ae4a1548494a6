"""What an execution costs, counted: times are the machine's and its neighbours'."""

import sys
from collections import Counter
from pathlib import Path

import keras
import programs
import pytest

import keras_perf as kp
from keras_perf.observation import warmup_and_intervals

OURS = str(Path(kp.__file__).parent)
EXECUTIONS = 600

LAST = 4
"""In this epoch trials of other lengths, of which there are more on a noisy machine, are over."""

MOST = 37
"""Python calls of ours in an execution, once trials are over. There were 34.5 when the suite added
11 µs."""


class Counts(keras.callbacks.Callback):
    """Counts calls of our functions in the last epoch, in the thread that trains."""

    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == LAST:
            sys.setprofile(self.count)

    def on_epoch_end(self, epoch, logs=None):
        sys.setprofile(None)

    def count(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.calls[frame.f_code] += 1


def calls_of(callbacks):
    """In an execution, of each of our functions."""
    counts = Counts()
    try:
        programs.model().fit(
            programs.dataset(EXECUTIONS),
            epochs=LAST + 1,
            verbose=0,
            shuffle=False,
            callbacks=[counts, *callbacks],
        )
    finally:
        sys.setprofile(None)
    return {
        f"{Path(code.co_filename).name}:{code.co_name}": count / EXECUTIONS
        for code, count in counts.calls.most_common()
    }


def test_an_execution_costs_the_whole_suite_few_calls(tmp_path, monkeypatch):
    # Intervals end by the clock: how many there are is the machine's.
    monkeypatch.setattr(warmup_and_intervals, "INTERVAL_S", 1e6)
    found = calls_of(kp.perf_callbacks(tmp_path, profiler={"skip_first": 10**9}))
    assert found["observation.py:begin"] == pytest.approx(1)
    assert sum(found.values()) < MOST, found
