"""When to capture, beside a definition that goes step by step."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.capture_windows.schedule import CaptureSchedule


def cycle_of_step(schedule: CaptureSchedule, step: int) -> int | None:
    """The cycle in which a step is active, read off the class's docstring."""
    length = schedule.wait_steps + schedule.warmup_steps + schedule.active_steps
    if step < schedule.skip_first:
        return None
    cycle, place = divmod(step - schedule.skip_first, length)
    if schedule.repeat and cycle >= schedule.repeat:
        return None
    return cycle if place >= schedule.wait_steps + schedule.warmup_steps else None


schedules = st.builds(
    CaptureSchedule,
    skip_first=st.integers(0, 30),
    wait_steps=st.integers(0, 20),
    warmup_steps=st.integers(0, 20),
    active_steps=st.integers(1, 20),
    repeat=st.integers(0, 4),
)


@given(schedule=schedules, steps_per_execution=st.integers(1, 70), begin=st.integers(0, 40))
@settings(max_examples=100, deadline=None)
def test_every_active_step_is_captured_once_and_no_execution_without_one(
    schedule, steps_per_execution, begin
):
    captured: list[int] = []
    for first in range(begin, begin + 250, steps_per_execution):
        steps = range(first, first + steps_per_execution)
        active = {cycle_of_step(schedule, step) for step in steps} - {None}
        window = schedule.window(first, steps_per_execution)
        if window is None:
            assert not active
        else:
            assert window in active
            captured += steps
    expected = [s for s in range(begin, begin + 250) if cycle_of_step(schedule, s) is not None]
    assert [s for s in captured if cycle_of_step(schedule, s) is not None and s < begin + 250] == (
        expected
    )
    assert len(captured) == len(set(captured))


@given(schedule=schedules, lengths=st.lists(st.integers(1, 40), max_size=40))
@settings(max_examples=100, deadline=None)
def test_windows_come_in_their_order_whatever_the_executions_lengths(schedule, lengths):
    first, windows = 0, []
    for steps in lengths:
        windows.append(schedule.window(first, steps))
        first += steps
    found = [window for window in windows if window is not None]
    assert found == sorted(found)


def test_the_default_captures_steps_20_to_40_once():
    schedule = CaptureSchedule()
    captured = [step for step in range(200) if schedule.window(step, 1) is not None]
    assert captured == list(range(20, 40))
    assert schedule.first_active == 20


def test_an_execution_that_holds_one_active_step_is_captured_whole():
    schedule = CaptureSchedule(warmup_steps=20, active_steps=1)
    assert [schedule.window(first, 8) for first in (8, 16, 24)] == [None, 0, None]


def test_a_repeat_of_none_has_no_end():
    schedule = CaptureSchedule(warmup_steps=9, active_steps=1, repeat=0)
    assert schedule.window(10_000_009, 1) == 1_000_000


def test_the_steps_skipped_come_once_and_the_waiting_in_each_cycle():
    schedule = CaptureSchedule(skip_first=5, wait_steps=2, warmup_steps=1, active_steps=2, repeat=2)
    windows = [schedule.window(step, 1) for step in range(17)]
    assert windows == [*[None] * 8, 0, 0, None, None, None, 1, 1, None, None]


@pytest.mark.parametrize("name", ["skip_first", "wait_steps", "warmup_steps", "repeat"])
def test_a_negative_number_of_steps_is_refused(name):
    with pytest.raises(ValueError, match=f"^{name} must be at least 0, got -1"):
        CaptureSchedule(**{name: -1})


def test_a_window_of_no_steps_is_refused_with_the_remedy():
    with pytest.raises(ValueError) as raised:
        CaptureSchedule(active_steps=0)
    assert str(raised.value) == (
        "active_steps must be at least 1, got 0. To capture nothing, leave WindowedProfiler out."
    )


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(CaptureSchedule)])
@pytest.mark.parametrize("value", [1.0, "1", None, True])
def test_what_is_no_int_is_refused(name, value):
    with pytest.raises(TypeError, match=f"^{name} must be an int, got {type(value).__name__}"):
        CaptureSchedule(**{name: value})
