"""Which number of steps per execution is chosen from the curve."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.observers.steps_trial.cost_curve import CostCurve
from keras_perf.observers.steps_trial.steps_choice import Bounds, choose_steps, recommend

milliseconds = st.floats(0.0, 500.0, allow_subnormal=False)
curves = st.builds(CostCurve, st.floats(0.001, 500.0), milliseconds)
epochs = st.none() | st.integers(1, 5000)
FREE = Bounds(limit=256, max_execution_s=math.inf, epoch_steps=None)
USUAL = Bounds(limit=256, max_execution_s=1.0, epoch_steps=None)


@pytest.mark.parametrize(
    ("curve", "chosen"),
    [
        (CostCurve(10.0, 0.2), 1),  # 10.2 is within 2% of 10
        (CostCurve(10.0, 0.4), 2),
        (CostCurve(1.0, 1.0), 64),  # 1 + 1/64 is the first within 2%
        (CostCurve(0.0, 1.0), 256),
        (CostCurve(0.0, 0.0), 1),
    ],
)
def test_the_smallest_number_near_the_floor_is_chosen(curve, chosen):
    assert choose_steps(curve, FREE) == chosen


@pytest.mark.parametrize(("epoch_steps", "chosen"), [(100, 50), (45, 45), (113, 64), (120, 60)])
def test_a_divisor_of_the_epoch_is_preferred_up_to_twice_what_is_needed(epoch_steps, chosen):
    # 50 steps are needed.
    assert choose_steps(CostCurve(1.0, 1.0), Bounds(256, math.inf, epoch_steps)) == chosen


def test_the_limit_bounds_the_choice():
    assert choose_steps(CostCurve(1.0, 1.0), Bounds(20, math.inf, None)) == 16


def test_the_epoch_bounds_the_choice():
    assert choose_steps(CostCurve(1.0, 10.0), Bounds(256, math.inf, 30)) == 30


def test_the_length_of_an_execution_bounds_the_choice():
    # Executions of 8 and 16 steps take 90 and 170 ms.
    assert choose_steps(CostCurve(10.0, 10.0), Bounds(256, 0.1, None)) == 8


@given(
    curve=curves,
    limit=st.integers(1, 1000),
    max_execution_s=st.floats(0.001, 100.0),
    epoch_steps=epochs,
)
@settings(max_examples=200, deadline=None)
def test_the_choice_keeps_all_bounds(curve, limit, max_execution_s, epoch_steps):
    chosen = choose_steps(curve, Bounds(limit, max_execution_s, epoch_steps))
    assert 1 <= chosen <= limit
    assert chosen <= (epoch_steps or chosen)
    if chosen > 1:  # a single step takes what it takes
        assert curve.step_ms(chosen) * chosen <= max_execution_s * 1e3 * (1 + 1e-9)


@given(
    in_graph=st.floats(0.001, 500.0),
    pair=st.tuples(milliseconds, milliseconds),
    epoch_steps=epochs,
    limit=st.integers(1, 1000),
)
@settings(max_examples=200, deadline=None)
def test_what_costs_more_per_execution_is_shared_among_no_fewer_steps(
    in_graph, pair, epoch_steps, limit
):
    # Only while no execution gets too long: a bound on its length works the other way.
    cheap, dear = (
        choose_steps(CostCurve(in_graph, cost), Bounds(limit, math.inf, epoch_steps))
        for cost in sorted(pair)
    )
    assert cheap <= dear


def test_what_pays_is_recommended_with_its_figures():
    curve = CostCurve(1.0, 1.0)
    found = recommend(curve, [curve] * 20, 1, USUAL)
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
        "called_less_often": [],
    }


def test_what_becomes_of_the_remainder_is_said():
    curve = CostCurve(1.0, 1.0)
    found = recommend(curve, [curve] * 20, 1, Bounds(256, 1.0, 113))
    assert found.reason.endswith("each epoch runs the 49 steps left.")
    found = recommend(curve, [curve] * 20, 1, Bounds(256, 1.0, 113, whole_executions=True))
    assert found.reason.endswith("each epoch gets 15 steps more.")
    found = recommend(curve, [curve] * 20, 1, Bounds(256, 1.0, 100))
    assert found.reason.endswith("among 50 steps.")


def test_the_bounds_are_the_5th_and_95th_percentile_of_the_resampled():
    curve = CostCurve(1.0, 1.0)
    resampled = [CostCurve(1.0, 0.5 + place / 100) for place in range(100)]
    found = recommend(curve, resampled, 1, USUAL)
    assert found.low == pytest.approx(1.55 / (1 + 0.55 / 64))
    assert found.high == pytest.approx(2.45 / (1 + 1.45 / 64))


def test_what_would_not_pay_is_not_recommended():
    curve = CostCurve(10.0, 0.4)
    found = recommend(curve, [curve] * 20, 1, USUAL)
    assert (found.steps_per_execution, found.predicted_speedup) == (1, 1.0)
    assert (found.low, found.high) == (1.0, 1.0)
    assert found.reason == (
        "no change: a step costs 10 ms inside the graph, an execution 0.4 ms more, "
        "too little to matter."
    )


def test_no_fewer_steps_than_now_are_recommended():
    curve = CostCurve(10.0, 0.1)
    found = recommend(curve, [curve] * 20, 32, USUAL)
    assert (found.steps_per_execution, found.predicted_speedup) == (32, 1.0)


@given(
    curve=curves,
    resampled=st.lists(curves, min_size=1, max_size=30),
    current=st.sampled_from([1, 2, 8, 100]),
    bounds=st.builds(Bounds, st.integers(1, 1000), st.floats(0.001, 10.0), epochs),
)
@settings(max_examples=100, deadline=None)
def test_no_recommendation_lowers_the_number_or_predicts_a_loss(curve, resampled, current, bounds):
    found = recommend(curve, resampled, current, bounds)
    assert found.steps_per_execution >= current
    assert 1.0 <= found.low <= found.predicted_speedup <= found.high


def test_a_step_that_mostly_waits_for_input_is_told_from_one_with_little_to_gain():
    curve = CostCurve(5.0, 0.1)
    bounds = Bounds(256, 1.0, 100)
    waiting = recommend(curve, [curve] * 20, 1, bounds, input_wait_ms=4.5)
    assert waiting.steps_per_execution == 1
    assert waiting.reason.startswith("no change: input-bound.")
    assert "4.5 ms" in waiting.reason
    computing = recommend(curve, [curve] * 20, 1, bounds, input_wait_ms=0.2)
    assert "too little to matter" in computing.reason


def test_a_step_that_mostly_enters_its_executions_does_not_wait_for_input_though_noise_hides_it():
    curve, bounds = CostCurve(0.57, 2.5), Bounds(256, 1.0, 100)
    found = recommend(curve, [curve] * 20, 1, bounds, certain=False, input_wait_ms=0.36)
    assert "too little to be told from noise" in found.reason


def test_what_may_be_chance_is_not_said_to_be_too_little_to_matter():
    # A single step took 1.2 ms more than the line says, which promises nothing of longer ones.
    curve, bounds = CostCurve(1.8, 100.0, measured=(1, 3.0)), Bounds(256, 1.0, 94)
    found = recommend(curve, [curve] * 20, 1, bounds, certain=False)
    assert found.steps_per_execution == 1
    assert found.reason.endswith("an execution 1.2 ms more, too little to be told from noise.")
