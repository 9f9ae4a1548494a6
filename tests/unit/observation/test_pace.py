"""When a stretch of executions is over, and what the next one begins with."""

from __future__ import annotations

import pytest

from keras_perf.observation.listener import Plan
from keras_perf.observation.warmup_and_intervals import (
    INTERVAL_S,
    LONG_INTERVAL_S,
    MANY_POINTS,
    WARMUP_STEPS,
    Over,
    Pace,
)
from keras_perf.records.execution import Kind


def warm(steps_per_execution: int = 1) -> Pace:
    pace = Pace(steps_per_execution, 1.0, 0)
    while pace.warmup_left > 0:
        run(pace, Kind.WARMUP, steps_per_execution)
    assert pace.stretch_fetches == 0
    return pace


def run(pace: Pace, kind: Kind, steps: int = 1) -> None:
    pace.returned(Plan(lambda iterator: None, steps, kind))


def test_the_warm_up_is_in_no_stretch():
    assert warm().warmup_left == 0
    assert WARMUP_STEPS >= 10


@pytest.mark.parametrize("steps", [1, 4])
def test_a_stretch_begins_with_the_execution_that_is_not_complete(steps):
    pace = warm(steps)
    for _ in range(3):
        run(pace, Kind.STEADY, steps)
    pace.end_stretch(holds=True)
    assert pace.stretch_fetches == steps
    pace.end_stretch(holds=False)
    assert pace.stretch_fetches == 0


def test_a_trial_that_is_not_complete_begins_none():
    pace = warm()
    run(pace, Kind.STEADY)
    run(pace, Kind.TRIAL, 8)
    pace.end_stretch(holds=True)
    assert (pace.stretch_fetches, pace.held_fetches) == (0, 8)


@pytest.mark.parametrize(
    ("epoch_steps", "short"), [(8, True), (12, True), (16, False), (None, False)]
)
def test_epochs_of_three_executions_end_before_a_stretch_that_can_be_measured(epoch_steps, short):
    pace = warm(4)
    pace.limit_stretch(epoch_steps, 0)
    assert pace.short_epochs is short


def test_a_training_of_ten_days_has_no_more_points_than_can_be_read_at_its_end():
    pace, now_s, points = warm(), 0.0, 0
    pace.limit_stretch(None, 0)
    run(pace, Kind.STEADY)
    pace.end_stretch(holds=False)
    while now_s < 10 * 24 * 3600:
        # The next execution comes a quarter of a second later.
        now_s += 0.25 if points < 2 * MANY_POINTS else LONG_INTERVAL_S / 4
        if pace.over(round(now_s * 1e9)) is Over.INTERVAL:
            pace.end_stretch(holds=False)
            pace.begin_interval(round(now_s * 1e9))
            points += 1
    assert 10 * 24 * 3600 / LONG_INTERVAL_S < points + MANY_POINTS < 20 * MANY_POINTS
    assert INTERVAL_S == 0.5
