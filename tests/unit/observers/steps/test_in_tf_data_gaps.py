"""What gap times tell of a trial: here a step takes 0.2 ms, and an execution 0.7 ms more."""

from __future__ import annotations

import pytest

from keras_perf.observers.steps_trial.in_tf_data_gaps import in_tf_data_gaps

STEPS = 32
INNER_US, ORDINARY_US = 200, 900
EXECUTION_MS = ORDINARY_US / 1e3
TRIAL_MS = (STEPS * INNER_US + ORDINARY_US - INNER_US) / 1e3


def gaps(inner=None, ordinary=None):
    """Two trials, each with the gap to what follows, and four ordinary executions."""
    inner = [INNER_US] * (STEPS - 1) if inner is None else inner
    ordinary = [ORDINARY_US] * 4 if ordinary is None else ordinary
    return [*inner, ORDINARY_US, *inner, *ordinary]


def test_a_step_and_an_execution_are_told_apart():
    found = in_tf_data_gaps(gaps(), STEPS, TRIAL_MS)
    assert (found.step_ms, found.per_execution_ms) == pytest.approx((0.2, 0.7))
    assert found.wait_ms == pytest.approx(0, abs=1e-9)
    assert found.tell(EXECUTION_MS)
    assert found.curve().step_ms(1) == pytest.approx(0.9)
    assert {each.per_execution_ms for each in found.resampled_curves()} == {found.per_execution_ms}


def test_what_takes_the_machine_for_some_steps_changes_nothing():
    taken = [INNER_US] * 24 + [8_000] * 7
    spent_ms = TRIAL_MS + 7 * 7.8
    found = in_tf_data_gaps(gaps(taken, [900, 9_000, 900, 30_000]), STEPS, spent_ms)
    assert found.tell(EXECUTION_MS)
    assert found.step_ms == pytest.approx(0.2)
    assert found.wait_ms == pytest.approx(0, abs=1e-9)
    assert found.wait_of(2.0) == pytest.approx(0, abs=1e-9)


def test_a_trial_that_waited_for_input_tells_nothing_of_what_is_gained():
    found = in_tf_data_gaps(gaps(), STEPS, TRIAL_MS + STEPS * 3.0)
    assert found.wait_ms == pytest.approx(3.0)
    assert not found.tell(EXECUTION_MS)
    assert found.wait_of(3.2) == pytest.approx(3.0)


def test_executions_that_cost_nothing_are_not_told_from_noise():
    noise = [190, 200, 210, 220]
    assert not in_tf_data_gaps(gaps((noise * 8)[:-1], noise), STEPS, TRIAL_MS).tell(EXECUTION_MS)


def test_one_short_gap_between_executions_is_a_doubt():
    assert not in_tf_data_gaps(gaps(ordinary=[900, 200, 900, 900]), STEPS, TRIAL_MS).tell(
        EXECUTION_MS
    )


def test_gaps_that_are_longer_than_executions_met_something_else():
    """Measured beside others: executions of 18.6 ms, and then four gaps of 33."""
    found = in_tf_data_gaps(gaps(ordinary=[1_600] * 4), STEPS, TRIAL_MS)
    assert found.tell(1.6)
    assert not found.tell(EXECUTION_MS)


def test_of_a_long_trial_the_newest_gaps_stand_for_all():
    steps = 2 * STEPS
    trial_ms = TRIAL_MS + STEPS * INNER_US / 1e3
    found = in_tf_data_gaps(gaps()[STEPS:], steps, trial_ms + steps * 0.1)
    assert found.wait_ms == pytest.approx(0.1)
    assert found.tell(EXECUTION_MS)


@pytest.mark.parametrize("known", [[], [900] * 5, [200] * 3 + [900] * 5])
def test_too_few_gaps_tell_nothing(known):
    assert in_tf_data_gaps(known, STEPS, TRIAL_MS) is None
