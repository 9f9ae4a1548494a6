"""T(N) = c + h / N, from executions of several lengths."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.steps_trial.cost_curve import CostCurve, fit_curve, resampled_curves


def close(curve: CostCurve, in_graph: float, per_execution: float) -> bool:
    return curve.in_graph_ms == pytest.approx(in_graph) and (
        curve.per_execution_ms == pytest.approx(per_execution)
    )


def test_the_curve_goes_through_two_lengths():
    # c = 2 ms a step; an execution costs 3 ms inside and 1 ms on the host.
    curve = fit_curve({1: [5.0] * 3, 16: [35.0] * 3}, host_ms=1.0)
    assert close(curve, 2.0, 4.0)
    assert curve.step_ms(1) == pytest.approx(6.0)
    assert curve.step_ms(16) == pytest.approx(2.25)


def test_three_lengths_on_a_line_give_that_line():
    assert close(fit_curve({4: [11.0], 8: [19.0], 32: [67.0]}, host_ms=1.0), 2.0, 4.0)


def test_one_late_execution_does_not_move_the_curve():
    samples = {1: [5.0, 5.0, 5.0, 5.0, 900.0], 16: [35.0, 35.0, 900.0]}
    assert close(fit_curve(samples, host_ms=1.0), 2.0, 4.0)


def test_longer_executions_measured_shorter_mean_a_step_that_is_free_in_the_graph():
    curve = fit_curve({1: [5.0], 16: [4.0]}, host_ms=1.0)
    assert curve.in_graph_ms == 0.0
    assert 5.0 <= curve.per_execution_ms <= 6.0


def test_a_step_in_the_graph_is_never_longer_than_a_measured_one():
    assert fit_curve({1: [1.0], 16: [320.0]}, host_ms=0.5).in_graph_ms == 1.0


def test_resampled_curves_of_constant_times_are_all_the_curve():
    for curve in resampled_curves({1: [5.0] * 6, 16: [35.0] * 6}, 1.0):
        assert close(curve, 2.0, 4.0)


def test_resampled_curves_are_the_same_again():
    samples = {1: [4.0, 5.0, 6.5, 5.5], 16: [33.0, 35.0, 38.0]}
    assert resampled_curves(samples, 1.0) == resampled_curves(samples, 1.0)


@given(
    in_graph=st.floats(0.01, 50),
    per_execution=st.floats(0, 50),
    host=st.floats(0, 5),
    noise=st.lists(st.floats(0.97, 1.03), min_size=15, max_size=15),
)
@settings(max_examples=100, deadline=None)
def test_noise_of_three_percent_moves_predictions_by_about_as_much(
    in_graph, per_execution, host, noise
):
    true = CostCurve(in_graph, per_execution + host)
    samples = {
        n: [(n * in_graph + per_execution) * f for f in noise[place * 5 : place * 5 + 5]]
        for place, n in enumerate((1, 8, 32))
    }
    found = fit_curve(samples, host)
    for n in (1, 8, 32):
        assert found.step_ms(n) == pytest.approx(true.step_ms(n), rel=0.1)


def test_the_present_length_keeps_its_own_time_and_does_not_bend_the_line():
    samples = {1: [9.0], 10: [22.0], 20: [42.0]}
    curve = fit_curve(samples, 1.0, present=1)
    assert (round(curve.in_graph_ms, 9), round(curve.per_execution_ms, 9)) == (2.0, 3.0)
    assert curve.step_ms(1) == 10.0
    assert round(curve.cost_at(1), 9) == 8.0
    assert round(curve.step_ms(30), 9) == 2.1


def test_with_one_other_length_the_line_goes_through_both():
    curve = fit_curve({1: [5.0], 10: [23.0]}, 0.0, present=1)
    assert (round(curve.in_graph_ms, 9), round(curve.per_execution_ms, 9)) == (2.0, 3.0)


def test_a_cost_that_cannot_be_is_lowered_at_the_same_time():
    curve = CostCurve(10.0, 5.0, (1, 14.0)).at_most(1.0, 1)
    assert (curve.step_ms(1), curve.in_graph_ms) == (14.0, 13.0)
    assert CostCurve(10.0, 5.0).at_most(6.0, 1) == CostCurve(10.0, 5.0)
