"""When a stretch of executions is over, and what the next one begins with."""

from __future__ import annotations

import pytest

from keras_perf.observation.listener import Plan
from keras_perf.observation.warmup_and_intervals import WARMUP_STEPS, Pace
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
