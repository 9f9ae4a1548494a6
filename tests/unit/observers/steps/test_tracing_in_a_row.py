"""How long executions traced that follow on each other."""

from __future__ import annotations

from keras_perf.observers.steps.tracing_in_a_row import TracingInARow


def test_it_is_told_of_one_right_behind_another():
    counted = iter([1.0, 1.5, 4.0, 4.25])
    tracing = TracingInARow(lambda: next(counted))
    assert tracing.traced(0, 2) is None
    assert tracing.traced(2, 1) == 500_000_000
    # Others ran between, and what they traced is not known.
    assert tracing.traced(5, 1) is None
    assert tracing.traced(6, 1) == 250_000_000


def test_where_nobody_counts_nothing_is_told():
    tracing = TracingInARow(lambda: None)
    assert [tracing.traced(step, 1) for step in range(3)] == [None] * 3
