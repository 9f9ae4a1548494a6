"""What captures cost, from scripted executions."""

from __future__ import annotations

from keras_perf.observers.capture_windows.cost import (
    FIXED_BYTES,
    LARGEST_BYTES,
    Slowdown,
    bytes_per_step,
    longest_window,
)
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.capture import Capture


def execution(step, kind, cycle_ns, steps=1):
    return Execution(step, steps, kind, 0, cycle_ns, cycle_ns, cycle_ns)


def test_the_slowdown_is_the_median_inside_over_the_median_before():
    slowdown = Slowdown()
    slowdown.add(execution(step, Kind.STEADY, 100) for step in range(20))
    slowdown.add(
        execution(step, Kind.PROFILED, 900 if step == 20 else 110) for step in range(20, 30)
    )
    slowdown.add(execution(step, Kind.STEADY, 500) for step in range(30, 600))
    assert slowdown.take() == 1.1


def test_the_slowdown_is_that_of_steps_whatever_the_executions_length():
    slowdown = Slowdown()
    slowdown.add([execution(0, Kind.STEADY, 800, steps=8)])
    slowdown.add([execution(8, Kind.PROFILED, 150)])
    assert slowdown.take() == 1.5


def test_the_next_window_is_compared_with_the_steps_before_it():
    slowdown = Slowdown()
    slowdown.add([execution(0, Kind.STEADY, 100), execution(1, Kind.PROFILED, 150)])
    slowdown.take()
    slowdown.add([execution(step, Kind.STEADY, 200) for step in range(2, 99)])
    slowdown.add([execution(99, Kind.PROFILED, 240)])
    assert slowdown.take() == 1.2


def test_without_steps_before_there_is_no_slowdown():
    slowdown = Slowdown()
    slowdown.add([execution(0, Kind.WARMUP, 100), execution(1, Kind.PROFILED, 150)])
    assert slowdown.take() is None


def test_the_longest_window_stays_within_the_bound_and_has_a_step():
    assert LARGEST_BYTES - 1000 < longest_window(1000) * 1000 + FIXED_BYTES <= LARGEST_BYTES
    assert longest_window(10 * LARGEST_BYTES) == 1


def test_a_trace_tells_what_a_step_takes_once_its_steps_are_most_of_it():
    assert bytes_per_step(8 * FIXED_BYTES, 4) == 2 * FIXED_BYTES
    assert bytes_per_step(4 * FIXED_BYTES, 4) is None
    assert bytes_per_step(8 * FIXED_BYTES, 0) is None


def capture(first, last):
    return Capture("schedule", first, last, 20, 40, 0.0, 0.0, 0, "trace")


def test_a_capture_says_whether_it_was_rounded_or_ended_early():
    found = [(c.as_asked, c.rounded) for c in (capture(20, 40), capture(16, 40), capture(20, 30))]
    assert found == [(True, False), (False, True), (False, False)]
