"""What trials come to: here a step takes 0.2 ms in the graph, an execution 0.7 ms more."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps_trial.conclusion import conclude
from keras_perf.observers.steps_trial.steps_choice import Bounds
from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.records.execution import Execution, Kind

STEPS, INNER_US, ORDINARY_US = 32, 200, 900
BOUNDS = Bounds(256, 1.0, None)
GAPS_US = [*([INNER_US] * (STEPS - 1)), *([ORDINARY_US] * 4)]
QUIET_MS = [6.9] * 4
TAKEN_MS = [20.0, 60.0, 40.0, 6.9]
"""Three of four trials ran while another process had the machine."""


def executed(steps, inside_ms, kind=Kind.STEADY):
    inside = round(inside_ms * 1e6)
    return Execution(0, steps, kind, 0, inside, inside, inside)


def concluded(trials_ms, gaps_us, ordinary_ms=0.9):
    times = TrialTimes()
    times.add([executed(1, ordinary_ms)] * 40)
    for ms in trials_ms:
        times.add([executed(STEPS, ms, Kind.TRIAL)] * 2)
    return conclude(times, 1, BOUNDS, gaps_us)


@pytest.mark.parametrize("gaps_us", [(), GAPS_US])
def test_on_a_quiet_machine_executions_tell(gaps_us):
    found = concluded(QUIET_MS, gaps_us)
    assert not found.unclear
    assert found.dispatch_ms == pytest.approx(0.7, abs=0.02)
    assert found.dispatch.share == pytest.approx(0.7 / 0.9, abs=0.02)
    assert found.record.steps_per_execution > 32


def test_where_executions_are_disturbed_gaps_tell():
    found = concluded(TAKEN_MS, GAPS_US)
    assert not found.unclear
    assert found.dispatch_ms == pytest.approx(0.7)
    assert found.dispatch.share == pytest.approx(0.7 / 0.9)
    assert found.record.steps_per_execution > 32
    assert found.record.per_execution_ms == pytest.approx(0.7)


def test_where_the_ordinary_gaps_are_disturbed_too_it_is_unclear():
    disturbed = [*([INNER_US] * (STEPS - 1)), *([2 * ORDINARY_US] * 4)]
    found = concluded([7.0, 60.0, 40.0, 6.9], disturbed)
    assert found.unclear
    assert found.dispatch_ms is None
    assert found.record.steps_per_execution == 1


def test_disturbed_and_without_gaps_it_is_unclear():
    found = concluded([7.0, 60.0, 40.0, 6.9], ())
    assert found.unclear
    assert found.dispatch_ms is None
    assert found.record.steps_per_execution == 1


def test_a_cost_that_is_too_little_to_matter_may_be_chance():
    disturbed = concluded([STEPS * 19.4, STEPS * 21.0, STEPS * 20.6, STEPS * 19.5], (), 20.0)
    assert disturbed.record.may_be_chance
    assert not disturbed.unclear, "more trials would buy nothing"
    quiet = concluded([STEPS * ms for ms in (19.5, 19.5, 19.52, 19.51)], (), 20.0)
    assert quiet.record.told_from_noise_ms == pytest.approx(0.5, abs=0.05)


def test_a_disturbed_trial_did_not_wait_for_input():
    doubtful = [*([INNER_US] * (STEPS - 1)), ORDINARY_US, 150, ORDINARY_US, ORDINARY_US]
    found = concluded([12.0, 60.0, 40.0, 6.9], doubtful)
    assert found.record.input_wait_ms is None


def test_what_waits_for_input_gains_nothing():
    waiting_ms = STEPS * 3.2
    found = concluded([waiting_ms, waiting_ms * 1.2, waiting_ms, waiting_ms], GAPS_US, 3.3)
    assert found.record.steps_per_execution == 1
    assert found.record.input_wait_ms == pytest.approx(3.0, abs=0.05)
    assert not found.unclear
