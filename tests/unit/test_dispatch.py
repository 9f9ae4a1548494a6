"""T(N) = c + h / N, and the number that is chosen from it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.dispatch import (
    CHOICES,
    CostCurve,
    choose_steps,
    fit_curve,
    recommend,
    resampled_curves,
)

milliseconds = st.floats(0.0, 500.0, allow_subnormal=False)
curves = st.builds(CostCurve, st.floats(0.001, 500.0), milliseconds)


# -- the curve ---------------------------------------------------------------------------


def test_the_curve_goes_through_both_lengths():
    # c = 2 ms a step; an execution costs 3 ms inside and 1 ms on the host.
    curve = fit_curve([5.0] * 3, 1, [35.0] * 3, 16, host_ms=1.0)
    assert curve == CostCurve(in_graph_ms=2.0, per_execution_ms=4.0)
    assert curve.step_ms(1) == 6.0
    assert curve.step_ms(16) == 2.25


def test_the_curve_is_the_same_from_a_longer_execution():
    assert fit_curve([11.0], 4, [67.0], 32, host_ms=1.0) == CostCurve(2.0, 4.0)


def test_one_late_execution_does_not_move_the_curve():
    curve = fit_curve([5.0, 5.0, 5.0, 5.0, 900.0], 1, [35.0, 35.0, 900.0], 16, host_ms=1.0)
    assert curve == CostCurve(2.0, 4.0)


def test_longer_executions_measured_shorter_mean_a_step_that_is_free_in_the_graph():
    assert fit_curve([5.0], 1, [4.0], 16, host_ms=1.0) == CostCurve(0.0, 6.0)


def test_a_step_in_the_graph_is_never_longer_than_a_measured_one():
    assert fit_curve([1.0], 1, [320.0], 16, host_ms=0.5) == CostCurve(1.0, 0.5)


def test_resampled_curves_of_constant_times_are_all_the_curve():
    curves = resampled_curves([5.0] * 6, 1, [35.0] * 6, 16, 1.0, draws=20)
    assert curves == [CostCurve(2.0, 4.0)] * 20


def test_resampled_curves_are_the_same_again():
    few, many = [4.0, 5.0, 6.5, 5.5], [33.0, 35.0, 38.0]
    assert resampled_curves(few, 1, many, 16, 1.0) == resampled_curves(few, 1, many, 16, 1.0)


# -- the choice --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("curve", "chosen"),
    [
        (CostCurve(10.0, 0.2), 1),  # 10.2 is within 3 % of 10
        (CostCurve(10.0, 0.4), 2),
        (CostCurve(1.0, 1.0), 64),  # 1 + 1/64 is the first within 3 %
        (CostCurve(0.0, 1.0), 256),
    ],
)
def test_the_smallest_number_near_the_floor_is_chosen(curve, chosen):
    assert choose_steps(curve, limit=256, max_execution_s=1e9) == chosen


def test_the_limit_bounds_the_choice():
    assert choose_steps(CostCurve(1.0, 1.0), limit=50, max_execution_s=1e9) == 32


def test_the_length_of_an_execution_bounds_the_choice():
    # Executions of 8 and 16 steps take 90 and 170 ms.
    assert choose_steps(CostCurve(10.0, 10.0), limit=256, max_execution_s=0.1) == 8


@given(curve=curves, limit=st.integers(1, 1000), max_execution_s=st.floats(0.001, 100.0))
@settings(max_examples=100, deadline=None)
def test_the_choice_keeps_both_bounds(curve, limit, max_execution_s):
    chosen = choose_steps(curve, limit=limit, max_execution_s=max_execution_s)
    assert chosen in CHOICES
    assert chosen <= limit
    if chosen > 1:  # a single step takes what it takes
        assert curve.step_ms(chosen) * chosen <= max_execution_s * 1e3


@given(in_graph=st.floats(0.001, 500.0), pair=st.tuples(milliseconds, milliseconds))
@settings(max_examples=100, deadline=None)
def test_what_costs_more_per_execution_is_shared_among_no_fewer_steps(in_graph, pair):
    # Only while no execution gets too long: a bound on its length works the other way.
    cheap, dear = (
        choose_steps(CostCurve(in_graph, cost), limit=256, max_execution_s=math.inf)
        for cost in sorted(pair)
    )
    assert cheap <= dear


# -- the recommendation ------------------------------------------------------------------


def test_what_pays_is_recommended_with_its_figures():
    curve = CostCurve(1.0, 1.0)
    found = recommend(curve, [curve] * 20, 1, limit=256, max_execution_s=1.0)
    assert found.steps_per_execution == 64
    assert found.predicted_speedup == found.low == found.high == 2.0 / (1 + 1 / 64)
    assert found.reason == (
        "a step costs 1 ms inside the graph, an execution 1 ms more: "
        "steps_per_execution=64 shares that among 64 steps."
    )
    assert found.evidence == {
        "in_graph_ms": 1.0,
        "per_execution_ms": 1.0,
        "steps_per_execution": 1,
    }


def test_the_bounds_are_the_5th_and_95th_percentile_of_the_resampled():
    curve = CostCurve(1.0, 1.0)
    resampled = [CostCurve(1.0, 0.5 + place / 100) for place in range(100)]
    found = recommend(curve, resampled, 1, limit=256, max_execution_s=1.0)
    assert found.low == pytest.approx(1.55 / (1 + 0.55 / 64))
    assert found.high == pytest.approx(2.45 / (1 + 1.45 / 64))


def test_what_would_not_pay_is_not_recommended():
    curve = CostCurve(10.0, 0.4)
    found = recommend(curve, [curve] * 20, 1, limit=256, max_execution_s=1.0)
    assert (found.steps_per_execution, found.predicted_speedup) == (1, 1.0)
    assert (found.low, found.high) == (1.0, 1.0)
    assert found.reason == (
        "no change: a step costs 10 ms inside the graph, an execution 0.4 ms more, "
        "too little to matter."
    )


def test_no_fewer_steps_than_now_are_recommended():
    curve = CostCurve(10.0, 0.1)
    found = recommend(curve, [curve] * 20, 32, limit=256, max_execution_s=1.0)
    assert (found.steps_per_execution, found.predicted_speedup) == (32, 1.0)


@given(
    curve=curves,
    resampled=st.lists(curves, min_size=1, max_size=30),
    current=st.sampled_from(CHOICES),
    limit=st.integers(1, 1000),
    max_execution_s=st.floats(0.001, 10.0),
)
@settings(max_examples=100, deadline=None)
def test_no_recommendation_lowers_the_number_or_predicts_a_loss(
    curve, resampled, current, limit, max_execution_s
):
    found = recommend(curve, resampled, current, limit=limit, max_execution_s=max_execution_s)
    assert found.steps_per_execution >= current
    assert 1.0 <= found.low <= found.predicted_speedup <= found.high
