"""Which executions belong to which window, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.capture_windows.schedule import CaptureSchedule
from keras_perf.observers.capture_windows.windows import NEVER, RESTARTS, Windows

schedules = st.builds(
    CaptureSchedule,
    skip_first=st.integers(0, 30),
    wait_steps=st.integers(0, 20),
    warmup_steps=st.integers(0, 20),
    active_steps=st.integers(1, 20),
    repeat=st.integers(0, 4),
)


def active_steps(schedule, until):
    return [step for step in range(until) if schedule.window(step, 1) is not None]


def captured(windows, lengths, asks=None):
    """(window, first step, steps) of each execution that is captured, and the steps in all."""
    found, step = [], 0
    for steps in lengths:
        if asks and step in asks:
            windows.request("asked")
        quiet = step + steps <= windows.quiet_until and windows.asked is None
        window = None if quiet else windows.at(step, steps)
        if window is not None:
            found.append((window, step, steps))
        step += steps
    return found


@given(schedule=schedules, steps=st.integers(1, 70))
@settings(max_examples=150, deadline=None)
def test_every_active_step_is_captured_once_and_no_execution_without_one(schedule, steps):
    """But for the second one of a window that would have a single one of several steps."""
    count = 250 // steps
    found = captured(Windows(schedule), [steps] * count)
    executions = [range(first, first + n) for _, first, n in found]
    late = max(0, steps - schedule.first_active) if schedule.warmup_steps else 0
    expected = [step + late for step in active_steps(schedule, count * steps - late)]
    assert [s for e in executions for s in e if s in set(expected)] == expected
    begins = [window.first_step for window, _, _ in found]
    for place, execution in enumerate(executions):
        second = steps > 1 and begins[:place].count(begins[place]) == 1
        assert set(execution) & set(expected) or second


@given(schedule=schedules, lengths=st.lists(st.integers(1, 40), max_size=30))
@settings(max_examples=150, deadline=None)
def test_windows_come_in_their_order_and_are_never_opened_twice(schedule, lengths):
    windows = [window for window, _, _ in captured(Windows(schedule), lengths)]
    ends = [window.end_step for window in windows]
    assert ends == sorted(ends)
    changes = [w for before, w in zip([None, *windows], windows, strict=False) if w is not before]
    assert len(changes) == len({id(w) for w in windows})


@given(schedule=schedules, asks=st.sets(st.integers(0, 200), max_size=5))
@settings(max_examples=150, deadline=None)
def test_with_windows_asked_for_the_scheduled_steps_are_still_captured_once(schedule, asks):
    found = captured(Windows(schedule), [1] * 250, asks)
    steps = [first for _, first, _ in found]
    assert len(steps) == len(set(steps))
    assert set(active_steps(schedule, 250)) <= set(steps)


@given(schedule=schedules, long=st.integers(2, 60), at=st.integers(0, 100))
@settings(max_examples=150, deadline=None)
def test_a_longer_execution_over_a_begin_moves_the_window_and_loses_none_of_it(schedule, long, at):
    """Another director may run more steps than were planned, ahead of the window or over it."""
    windows, step, count = Windows(schedule), 0, 0
    while step < 600:
        quiet = step + 1 <= windows.quiet_until
        window = None if quiet else windows.at(step, 1)
        count += window is not None
        step += long if window is None and step >= at and step % 7 == 0 else 1
    if schedule.repeat:
        assert count == schedule.repeat * schedule.active_steps


def test_the_first_window_begins_where_it_is_asked_for_and_holds_nobody_up_later():
    windows = Windows(CaptureSchedule(skip_first=30, warmup_steps=0, active_steps=5, repeat=2))
    assert [windows.free_steps(step) for step in (0, 29, 30, 31)] == [30, 1, NEVER, NEVER]
    assert windows.at(30, 1) == (30, 35, "schedule")
    assert windows.next_start == 35
    assert windows.free_steps(31) == NEVER


@pytest.mark.parametrize(("steps", "first", "end"), [(1, 20, 30), (4, 20, 32), (7, 14, 35)])
def test_a_window_is_rounded_outwards_to_whole_executions(steps, first, end):
    found = captured(Windows(CaptureSchedule(active_steps=10)), [steps] * 50)
    assert next(f for _, f, _ in found) == first
    assert found[-1][1] + steps == end
    assert {(w.first_step, w.end_step) for w, _, _ in found} == {(20, 30)}


@pytest.mark.parametrize(("steps", "first", "end"), [(20, 20, 60), (32, 32, 96), (64, 64, 192)])
def test_a_window_holds_two_executions_and_not_the_first_one(steps, first, end):
    found = captured(Windows(CaptureSchedule()), [steps] * 50)
    assert [(each, n) for _, each, n in found] == [(first, steps), (first + steps, steps)]
    assert found[-1][1] + steps == end


def test_one_that_is_asked_for_holds_two_executions():
    found = captured(Windows(CaptureSchedule(skip_first=10_000)), [64] * 50, {128})
    assert [each for _, each, _ in found] == [128, 192]


def test_without_warm_up_the_first_execution_may_be_captured():
    found = captured(Windows(CaptureSchedule(warmup_steps=0)), [64] * 50)
    assert [each for _, each, _ in found] == [0, 64]


def test_warm_up_starts_again_after_a_retrace_inside_it():
    windows = Windows(CaptureSchedule(warmup_steps=20, active_steps=5))
    assert windows.warm_up_again(16)
    assert windows.next_start == 36
    assert [f for _, f, _ in captured(windows, [1] * 80)] == list(range(36, 41))


def test_a_retrace_long_before_the_warm_up_changes_nothing():
    windows = Windows(CaptureSchedule(skip_first=50, warmup_steps=20))
    assert not windows.warm_up_again(40)
    assert windows.next_start == 70


def test_a_retrace_inside_the_window_changes_nothing():
    windows = Windows(CaptureSchedule(warmup_steps=5, active_steps=5, repeat=2))
    windows.at(5, 1)
    assert not windows.warm_up_again(6)
    assert windows.current is not None


def test_what_retraces_for_ever_is_captured_all_the_same():
    windows = Windows(CaptureSchedule(warmup_steps=20, active_steps=5))
    restarts = [windows.warm_up_again(step) for step in range(10, 200, 10)]
    assert sum(restarts) == RESTARTS
    assert windows.next_start == 10 * RESTARTS + 20


def test_a_window_asked_for_begins_with_the_next_execution_and_serves_those_asked_inside():
    windows = Windows(CaptureSchedule(skip_first=1000, active_steps=5))
    windows.request("SIGUSR2")
    window = windows.at(7, 2)
    assert window == (7, 12, "SIGUSR2")
    assert not windows.request("again")
    assert windows.at(9, 2) is window
    assert windows.at(13, 2) is None
    assert windows.quiet_until == 1020


def test_after_the_last_window_nothing_is_due_but_may_be_asked_for():
    windows = Windows(CaptureSchedule(warmup_steps=0, active_steps=5))
    captured(windows, [1] * 10)
    assert windows.quiet_until == windows.next_start == NEVER
    windows.request("asked")
    assert windows.at(500, 1) == (500, 505, "asked")


def test_a_shortened_or_abandoned_window_is_not_taken_up_again():
    for end in (lambda w: w.shorten(3), lambda w: w.abandon()):
        windows = Windows(CaptureSchedule(warmup_steps=0, active_steps=50))
        windows.at(0, 3)
        end(windows)
        assert windows.at(3, 3) is None
        assert captured(windows, [1] * 20) == []


def test_a_scheduled_window_inside_one_asked_for_counts_as_reached():
    windows = Windows(CaptureSchedule(warmup_steps=5, active_steps=5))
    windows.request("asked")
    windows.at(4, 8)
    windows.at(12, 1)
    assert windows.at(13, 1) is None
    assert windows.reached == 1
