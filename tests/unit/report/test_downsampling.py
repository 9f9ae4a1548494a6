"""Plots of long runs stay small, and their means stay true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from keras_perf.report.page.downsampling import MOST, thinned


def frame(count):
    index = pd.Index(np.arange(1, count + 1) * 10, name="step")
    return pd.DataFrame({"compute": np.arange(count, dtype=float)}, index=index)


def test_what_a_plot_can_show_is_left_as_it_is():
    values = frame(MOST)
    assert thinned(values, pd.Series(1.0, index=values.index)) is values


@pytest.mark.parametrize("count", [MOST + 1, 7 * MOST, 10_007])
def test_a_long_run_has_as_many_points_as_a_plot_can_show_up_to_its_last_step(count):
    values = frame(count)
    shown = thinned(values, pd.Series(1.0, index=values.index))
    assert len(shown) == MOST
    assert shown.index[-1] == values.index[-1]
    assert shown.index.is_monotonic_increasing


def test_a_point_is_the_mean_over_the_steps_that_it_stands_for():
    values = frame(2 * MOST)
    shown = thinned(values, pd.Series([1.0, 3.0] * MOST, index=values.index))
    assert list(shown.index[:2]) == [20, 40]
    assert list(shown["compute"].iloc[:2]) == [0.75, 2.75]
