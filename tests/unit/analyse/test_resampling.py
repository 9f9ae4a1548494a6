"""Intervals of a ratio, on runs whose ratio is known."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.analyse.of_intervals import resampling
from keras_perf.analyse.of_intervals.resampling import (
    DRAWS,
    bounds_of,
    resampled_means,
    speedup_interval,
)


def run(*intervals: tuple[float, float]) -> pd.DataFrame:
    """Intervals as (steps, milliseconds per step)."""
    return pd.DataFrame(intervals, columns=["steps", "step"])


def test_a_run_that_does_not_vary_has_no_spread():
    draws = resampled_means(run(*[(10, 4.0)] * 7), seed=0)["step"]
    assert draws.shape == (DRAWS,)
    assert set(draws) == {4.0}


def test_the_same_seed_draws_the_same():
    varied = run((10, 4.0), (20, 5.0), (30, 6.0))
    first, again, other = (resampled_means(varied, seed)["step"] for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_an_interval_weighs_as_many_steps_as_it_has():
    # Two intervals: each draw is (4, 4), (4, 8) or (8, 8), weighted 30 to 10.
    draws = resampled_means(run((30, 4.0), (10, 8.0)), seed=0)["step"]
    assert set(draws) == {4.0, 5.0, 8.0}


def test_constant_runs_have_exactly_their_ratio():
    assert speedup_interval(run(*[(10, 6.0)] * 5), run(*[(10, 3.0)] * 5)) == (2.0, 2.0)


def test_one_interval_is_enough_for_an_answer():
    assert speedup_interval(run((10, 6.0)), run((10, 3.0))) == (2.0, 2.0)


def test_in_each_draw_the_parts_add_up_to_the_step():
    varied = run((10, 4.0), (20, 5.0), (30, 6.0)).assign(
        input_wait=[1.0, 2.0, 0.5], callbacks=[0.5, 0.25, 1.0], compute=[2.5, 2.75, 4.5]
    )
    step, *parts = resampled_means(varied, 0).values()
    assert step == pytest.approx(sum(parts))
    assert list(resampled_means(varied, 0)) == ["step", "input_wait", "compute", "callbacks"]


def test_a_draw_without_an_interval_that_knows_a_part_does_not_know_it():
    known_once = run((10, 4.0), (10, 4.0)).assign(dispatch=[math.nan, 1.0], compute=[4.0, 3.0])
    draws = resampled_means(known_once, 0)
    unknown = np.isnan(draws["dispatch"])
    assert 0.2 < unknown.mean() < 0.3
    assert set(draws["dispatch"][~unknown]) == {1.0}
    assert bounds_of(draws["dispatch"]) == (1.0, 1.0)
    assert bounds_of(draws["compute"]) == (3.0, 3.0)


def test_bounds_of_what_no_draw_knows_are_unknown():
    assert all(math.isnan(bound) for bound in bounds_of(np.full(5, np.nan)))


def test_of_very_many_intervals_blocks_are_drawn(monkeypatch):
    varied = run(*[(10, 4.0 + place % 5) for place in range(30)])
    single = resampled_means(varied, 0)["step"]
    monkeypatch.setattr(resampling, "MOST_BLOCKS", 6)
    blocks = resampled_means(varied, 0)["step"]
    assert blocks.mean() == pytest.approx(single.mean(), abs=0.1)
    # Five in a row are alike in sum, so drawing them together leaves no chance.
    assert blocks.std() == pytest.approx(0.0, abs=1e-9)
    monkeypatch.setattr(resampling, "MOST_BLOCKS", 30)
    assert np.array_equal(resampled_means(varied, 0)["step"], single)


def test_a_run_compared_with_itself_may_be_as_fast():
    varied = run(*[(10, 4.0 + place % 5) for place in range(30)])
    low, high = speedup_interval(varied, varied)
    assert low < 1.0 < high


def test_more_intervals_tell_more():
    few = run(*[(10, 4.0 + place % 5) for place in range(10)])
    many = run(*[(10, 4.0 + place % 5) for place in range(400)])
    widths = [high - low for low, high in (speedup_interval(r, r) for r in (few, many))]
    assert widths[1] < widths[0] / 3


runs = st.lists(st.tuples(st.integers(1, 500), st.floats(0.01, 1e4)), min_size=1, max_size=10).map(
    lambda intervals: run(*intervals)
)


@given(before=runs, after=runs)
@settings(max_examples=100, deadline=None)
def test_the_bounds_lie_between_the_extremes_of_the_intervals(before, after):
    low, high = speedup_interval(before, after)
    least = before["step"].min() / after["step"].max()
    most = before["step"].max() / after["step"].min()
    assert least <= low * (1 + 1e-9)
    assert low <= high
    assert high <= most * (1 + 1e-9)


@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_the_bounds_scale_with_the_run(factor):
    before = run((10, 4.0), (20, 5.0), (30, 6.0))
    after = run((10, 2.0), (20, 3.0))
    low, high = speedup_interval(before, after)
    scaled = speedup_interval(before.assign(step=before["step"] * factor), after)
    assert scaled == pytest.approx((low * factor, high * factor))
