"""Which gap times are whose, by hand."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps.input.gap_times import gaps_of_each
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
"""Between two executions, a quarter of which lies outside of the train function."""


def overlapped(
    steps: int, computes: int, fetches: int, late: int = 0
) -> tuple[Execution, list[int], int]:
    """An execution whose steps ask for the next batch, its gaps, and the next one's begin.

    Its threads are late once, so long, after the last `GetNext`.
    """
    gap = max(0, computes - fetches)
    gaps = [0, *[gap] * (steps - 2), gap + computes + BETWEEN + late]
    cycle = BETWEEN + late + fetches + (steps - 1) * max(computes, fetches) + computes
    assert sum(gaps) == cycle - steps * fetches
    returned = MS + cycle - BETWEEN // 4
    own = BETWEEN - BETWEEN // 4
    return Execution(0, steps, Kind.STEADY, MS, returned, 0, 0, own_ns=own), gaps, MS + cycle


def waited_ns(*told_by: tuple[Execution, list[int], int]) -> list[int]:
    """By `measured_waits`: one execution after the other."""
    executions, gaps, now = [], [], 0
    for place, (execution, own, next_begin) in enumerate(told_by):
        moved = now - execution.begin_ns
        executions.append(
            execution._replace(
                first_step=place, begin_ns=now, returned_ns=max(0, execution.returned_ns + moved)
            )
        )
        gaps.extend(gap // US for gap in own)
        now = next_begin + moved
    steps = len(told_by[-1][1])
    found = measured_waits(executions, 1, [*gaps, *[0] * (steps - 1)], steps, now)
    assert found is not None
    return [found.waits[place] for place in range(len(told_by))]


@pytest.mark.parametrize("steps", [2, 3, 4, 32])
def test_of_several_steps_only_the_first_waits_where_batches_come_in_time(steps):
    assert waited_ns(overlapped(steps, 5 * MS, 3 * MS)) == [3 * MS]


@pytest.mark.parametrize("steps", [2, 3, 4, 32])
def test_of_several_steps_whose_batches_are_late_what_computing_hides_is_no_wait(steps):
    assert waited_ns(overlapped(steps, 5 * MS, 12 * MS)) == [12 * MS + (steps - 1) * 7 * MS]


@pytest.mark.parametrize("steps", [2, 3, 4, 32])
def test_threads_that_are_late_once_do_not_count_for_each_step(steps):
    usual, late = (overlapped(steps, MS, 9 * MS, late * MS) for late in (0, 8))
    expected = 9 * MS + (steps - 1) * 8 * MS
    assert waited_ns(usual, late, usual, late, usual) == [expected] * 5


def test_where_no_step_asks_ahead_all_of_each_fetch_is_waited_for():
    computes, fetches, steps = 5 * MS, 3 * MS, 4
    cycle = BETWEEN + steps * (computes + fetches)
    execution = Execution(0, steps, Kind.STEADY, MS, MS + cycle - MS // 2, 0, 0)
    gaps = [*[computes] * (steps - 1), computes + BETWEEN]
    assert waited_ns((execution, gaps, MS + cycle)) == [steps * fetches]


def test_where_nobody_saw_it_return_or_a_step_asks_more_than_once_each_fetch_counts():
    execution, gaps, after = overlapped(4, 5 * MS, 3 * MS)
    assert waited_ns((execution._replace(returned_ns=0), gaps, after)) == [4 * 3 * MS]
    twice = execution._replace(steps=2, begin_ns=0, returned_ns=execution.returned_ns - MS)
    found = measured_waits([twice], 2, [*(gap // US for gap in gaps), 0, 0, 0], 4, after - MS)
    assert found is not None
    assert found.waits == {0: 4 * 3 * MS}
