"""How far off a prediction may be."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from hand_built import situation, summary

from keras_perf.advise.gains.prediction_bounds import (
    FROM_RUN_TO_RUN,
    MOST,
    NOT_MEASURED,
    OF_OTHERS,
    THIN,
    uncertainty,
)
from keras_perf.advise.rules.all_rules import recommendations
from keras_perf.advise.situation import situation_of

MEASURED = {"input_wait": 1.0, "dispatch": 1.0, "compute": 8.0}

ALONE = math.hypot(FROM_RUN_TO_RUN, THIN / 20**0.5)
"""Of a run of twenty intervals that are alike."""


def test_a_quiet_steady_run_differs_as_two_runs_do():
    assert uncertainty(situation(**MEASURED)) == pytest.approx(ALONE)


def test_of_a_short_run_less_is_known():
    known = uncertainty(situation(20, **MEASURED))
    assert known == pytest.approx(math.hypot(FROM_RUN_TO_RUN, THIN / 2**0.5))


def test_each_part_that_was_not_measured_adds_to_it():
    expected = math.hypot(ALONE, NOT_MEASURED, NOT_MEASURED)
    assert uncertainty(situation(compute=10.0)) == pytest.approx(expected)


def test_so_do_cores_that_others_use():
    sensors = {"host/cpu_pct": 75.0, "host/process_cpu_pct": 200.0}
    found = situation(**MEASURED, sensors=sensors, context={"cpu_count": 8})
    expected = math.hypot(ALONE, OF_OTHERS * 0.5)
    assert uncertainty(found) == pytest.approx(expected)


@pytest.mark.parametrize("rows", [4, 40])
def test_so_do_intervals_that_differ_less_where_there_are_more(rows):
    step = [5.0, 15.0] * (rows // 2)
    intervals = pd.DataFrame({"steps": 10.0, "step": step, "compute": step})
    found = situation_of(replace(summary(rows * 10, **MEASURED), intervals=intervals))
    chance = 1.28 * 0.5 / rows**0.5
    assert uncertainty(found) == pytest.approx((FROM_RUN_TO_RUN**2 + chance**2) ** 0.5, rel=0.1)


def test_it_has_an_end():
    intervals = pd.DataFrame({"steps": 10.0, "step": [1.0, 400.0], "compute": [1.0, 400.0]})
    found = situation_of(replace(summary(20, compute=1.0), intervals=intervals))
    assert uncertainty(found) == MOST


def test_a_small_gain_that_a_rule_is_sure_of_has_bounds_too():
    advice = recommendations(situation(**MEASURED, garbage_ms=0.3))
    assert [one.id for one in advice] == ["tune-gc"]
    assert advice[0].low == 1.0
    assert advice[0].high > (1 + FROM_RUN_TO_RUN) * advice[0].predicted_speedup
