"""Which gap times are whose, by hand."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps.input.gap_times import gaps_of_each, waited_ns
from keras_perf.observers.steps.input.measured_waits import measured_waits
from keras_perf.records.execution import Execution, Kind

US = 1000
"""Nanoseconds."""


def begun_at(*begins_us: int, steps: int = 1) -> list[Execution]:
    return [
        Execution(place * steps, steps, Kind.STEADY, begin * US, 0, 0, 0)
        for place, begin in enumerate(begins_us)
    ]


def test_the_last_gap_of_an_execution_ends_with_the_fetch_after_it():
    gaps = [1, 2, 3, 4, 5, 6, 7, 8]
    assert gaps_of_each([1, 1], gaps, 0) == [[8 * US]]
    assert gaps_of_each([1, 1], gaps, 2) == [[6 * US]]
    assert gaps_of_each([4, 3], gaps, 0) == [[3 * US, 4 * US, 5 * US, 6 * US]]
    assert gaps_of_each([1, 2, 1], gaps, 1) == [[5 * US], [6 * US, 7 * US]]


@pytest.mark.parametrize(("fetches", "pending"), [([4, 1], 0), ([1, 4], 0), ([1, 1], 3)])
def test_gaps_that_are_forgotten_are_none(fetches, pending):
    assert gaps_of_each(fetches, [1, 2, 3], pending) == []


def test_of_the_executions_before_those_that_are_remembered_none_is_known():
    assert gaps_of_each([1, 1, 1, 1], [7, 8], 0) == [[7 * US], [8 * US]]


def test_what_a_gap_leaves_of_the_time_to_the_next_begin_was_waiting():
    executions = begun_at(0, 100, 250)
    assert measured_waits(executions, 1, [60, 70], 0).waits == {0: 40 * US, 1: 80 * US}


def test_the_wait_of_the_last_one_is_known_where_another_has_run_after_it():
    executions = begun_at(0, 100, 250)
    found = measured_waits(executions, 1, [60, 70, 10], 1, 300 * US)
    assert found.waits == {0: 40 * US, 1: 80 * US, 2: 40 * US}


def test_the_fetches_of_the_one_that_has_run_after_it_are_passed_over():
    executions = begun_at(0, 100, steps=2)
    found = measured_waits(executions, 1, [20, 30, 25, 35, 999], 2, 180 * US)
    assert found.waits == {0: 50 * US, 2: 20 * US}


def test_a_gap_longer_than_the_time_it_lies_in_is_no_wait_below_nothing():
    assert measured_waits(begun_at(0, 100), 1, [101], 0).waits == {0: 0}


MS = 1_000_000
BETWEEN = 2 * MS
"""Between two executions, half a millisecond of which lies outside of the train function."""


def overlapped(steps: int, computes: int, fetches: int) -> tuple[Execution, list[int], int]:
    """An execution whose steps ask for the next batch, its gaps, and the next one's begin."""
    gap = max(0, computes - fetches)
    gaps = [0, *[gap] * (steps - 2), gap + computes + BETWEEN]
    cycle = BETWEEN + fetches + (steps - 1) * max(computes, fetches) + computes
    assert sum(gaps) == cycle - steps * fetches
    return Execution(0, steps, Kind.STEADY, MS, MS + cycle - MS // 2, 0, 0), gaps, MS + cycle


@pytest.mark.parametrize("steps", [2, 3, 4, 32])
def test_of_several_steps_only_the_first_waits_where_batches_come_in_time(steps):
    assert waited_ns(*overlapped(steps, 5 * MS, 3 * MS)) == 3 * MS


@pytest.mark.parametrize("steps", [2, 3, 4, 32])
def test_of_several_steps_whose_batches_are_late_what_computing_hides_is_no_wait(steps):
    found = waited_ns(*overlapped(steps, 5 * MS, 12 * MS))
    waited = 12 * MS + (steps - 1) * 7 * MS
    # Half a millisecond between two executions cannot be told from computing.
    assert found == waited - (steps - 1) * MS // 2


def test_where_no_step_asks_ahead_all_of_each_fetch_is_waited_for():
    computes, fetches, steps = 5 * MS, 3 * MS, 4
    cycle = BETWEEN + steps * (computes + fetches)
    execution = Execution(0, steps, Kind.STEADY, MS, MS + cycle - MS // 2, 0, 0)
    gaps = [*[computes] * (steps - 1), computes + BETWEEN]
    assert waited_ns(execution, gaps, MS + cycle) == steps * fetches


def test_where_nobody_saw_it_return_or_a_step_asks_more_than_once_each_fetch_counts():
    execution, gaps, after = overlapped(4, 5 * MS, 3 * MS)
    assert waited_ns(execution._replace(returned_ns=0), gaps, after) == 4 * 3 * MS
    assert waited_ns(execution._replace(steps=2), gaps, after) == 4 * 3 * MS
