"""Which trials are due, one after the other."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps_trial.steps_to_try import CONFIRMATIONS, TRIALS, Room
from keras_perf.observers.steps_trial.trial_times import RUN_UP, TrialTimes
from keras_perf.observers.steps_trial.trials_due import REPEATS, TrialQueue
from keras_perf.records.execution import Execution, Kind

EACH = 1 + RUN_UP


def room(steps_left=10_000):
    return Room(1, 1.0, 0.5, 1000, steps_left, 256, 1.0)


def emptied(queue, times):
    """All that is due, run."""
    found = []
    while queue.next_steps:
        found.append(queue.take())
    times.add(Execution(0, n, Kind.TRIAL, 0, 10**6, 10**6, 10**6) for n in found)
    return found


def first_ones():
    queue, times = TrialQueue(), TrialTimes()
    assert queue.fill(room(), times, lambda: 64) is None
    assert emptied(queue, times) == [8, 8, 32, 32] * TRIALS
    return queue, times


def test_two_lengths_take_turns_and_one_beyond_follows_once():
    queue, times = first_ones()
    queue.fill(room(), times, lambda: 64)
    assert emptied(queue, times) == [128] * EACH * CONFIRMATIONS
    queue.fill(room(), times, lambda: 256)
    assert queue.next_steps == 0


def test_the_longest_that_fits_is_repeated_so_many_times_and_no_more():
    queue, times = first_ones()
    for _ in range(REPEATS):
        assert queue.repeat(room(), times)
        assert emptied(queue, times) == [32] * EACH * CONFIRMATIONS
    assert not queue.repeat(room(), times)


TAKEN = TRIALS * EACH * (8 + 32)
"""Steps of the first trials."""


@pytest.mark.parametrize(("spare", "repeats"), [(0, 1), (-1, 0)])
def test_repeats_leave_half_of_the_training_alone(spare, repeats):
    queue, times = first_ones()
    left = TAKEN + 2 * EACH * CONFIRMATIONS * 32 + spare
    assert queue.repeat(room(left), times) == bool(repeats)
    assert emptied(queue, times) == [32] * EACH * CONFIRMATIONS * repeats
