"""What was measured of a change, as it is recorded."""

import pytest

from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.training.recorded_change import APART, as_tried
from keras_perf.trials.training.training_change import TrainingChange

CHANGE = TrainingChange("enable-xla", "compile", "", lambda setup: setup)


def test_slices_that_agree_leave_what_one_run_differs_from_the_next():
    found = as_tried(CHANGE, Pair(4.0, 2.0, 2.0, 2.0, 2.0), 0.0)
    assert found.gain == 2.0
    assert found.low == pytest.approx(2.0 / (1 + APART))
    assert found.high == pytest.approx(2.0 * (1 + APART))


def test_slices_that_differ_by_much_hide_it():
    found = as_tried(CHANGE, Pair(4.0, 2.0, 2.0, 1.0, 4.0), 0.0)
    assert found.low == pytest.approx(1.0, rel=0.01)
    assert found.low < 1.0
    assert found.high == pytest.approx(4.0, rel=0.01)
    assert found.high > 4.0


def test_what_trials_do_not_run_is_in_both():
    found = as_tried(CHANGE, Pair(4.0, 2.0, 2.0, 1.9, 2.1), 2.0)
    assert (found.before_ms, found.after_ms) == (6.0, 4.0)
    assert found.gain == 1.5
    assert found.low < found.gain < found.high
