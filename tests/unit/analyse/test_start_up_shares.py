"""What start-up took, from figures that one can do in one's head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pandas as pd
import pytest
from hand_built import stage, summary

from keras_perf.analyse.start_up_shares import StartUpTime, start_up_time
from keras_perf.analyse.summary import Summary

FIRST = {
    "before_first_step_s": 0.5,
    "first_steps": 1,
    "first_execution_s": 9.0,
    "tracing_s": 4.0,
    "computing_s": 2.0,
}
OUTSIDE = {"warmup_steps": 10, "first_execution_s": 9.0, "warmup_s": 10.0}

SHUFFLED = {
    "dataset": {"chains": [[{"kind": "map"}, {"kind": "shuffle", "buffer": 100}]]},
    "stages": [stage("Map", 10.0), stage("Shuffle", 0.0, elements_per_batch=10.0)],
}


def measured(
    steps_ms: Sequence[float] = (10.0,) * 20, interval_ms: float | None = None, **context: Any
) -> Summary:
    """Intervals of ten steps, or of as many as fit; beyond 10 ms a step waits for input."""
    known = {"start_up": FIRST, "outside": OUTSIDE, **context}
    steps = [10.0 if interval_ms is None else interval_ms // ms for ms in steps_ms]
    columns = {"steps": steps, "step": list(steps_ms), "compute": [10.0] * len(steps)}
    intervals = pd.DataFrame(columns, index=[int(10 + done) for done in accumulate(steps)])
    intervals["input_wait"] = intervals["step"] - 10
    return replace(summary(200, compute=10.0, context=known), intervals=intervals)


def spent(*arguments: Any, **context: Any) -> StartUpTime:
    found = start_up_time(measured(*arguments, **context))
    assert found is not None
    return found


def test_each_part_is_the_time_beyond_steady_steps():
    # Of a step 10 ms; the first one computes for 2 s, the nine after it take 1 s.
    found = spent()
    assert found.parts == pytest.approx(
        {
            "before_first_step": 0.5,
            "tracing": 4.0,
            "first_batch": 3.0,
            "first_computing": 1.99,
            "warmup_input": 0.0,
            "warmup_compiling": 0.0,
            "rest_of_warmup": 0.91,
        }
    )
    assert found.steps == 10
    assert found.total_s == pytest.approx(10.4)


def test_the_training_is_all_that_was_observed_of_it():
    outside = {**OUTSIDE, "validation_s": 3.0, "epoch_rest_s": 1.0, "trial_s": 0.25}
    found = spent(outside={**outside, "epoch_callbacks_s": {"A.b": 0.25}})
    # Before the first step, warm-up, 200 steps of 10 ms, and what lies outside.
    assert found.training_s == pytest.approx(0.5 + 10.0 + 2.0 + 4.5)
    assert found.seconds("tracing", "rest_of_warmup") == pytest.approx(4.91)


def test_of_the_warmup_waiting_for_input_is_told_apart():
    found = spent(start_up={**FIRST, "warmup_wait_s": 0.6})
    assert found.parts["warmup_input"] == pytest.approx(0.6)
    assert found.parts["rest_of_warmup"] == pytest.approx(0.31)


@pytest.mark.parametrize(("told_s", "at_most_s"), [(0.5, 0.5), (3.0, 0.91)])
def test_of_the_warmup_compiling_is_told_apart_where_jax_tells_of_it(told_s, at_most_s):
    found = spent(start_up={**FIRST, "warmup_compiling_s": told_s})
    assert found.parts["warmup_compiling"] == pytest.approx(at_most_s)
    assert found.parts["rest_of_warmup"] == pytest.approx(0.91 - at_most_s)


def test_where_tracing_is_not_told_the_first_execution_is_one_part():
    found = spent(start_up={**FIRST, "tracing_s": None})
    assert found.parts["first_execution"] == pytest.approx(8.99)
    assert "tracing" not in found.parts


def test_where_tf_data_tells_no_gap_times_tracing_alone_is_told_apart():
    found = spent(start_up={**FIRST, "computing_s": None})
    assert found.parts["first_execution"] == pytest.approx(4.99)
    assert found.parts["tracing"] == 4.0


def test_steps_are_steady_from_the_first_that_takes_little_more_than_later_ones():
    found = spent([40.0, 30.0, 12.0, 10.0, 90.0, *[10.0] * 15])
    # Two intervals of ten steps: 300 ms and 200 ms longer, all of it waiting.
    assert found.steps == 30
    assert found.parts["later_input"] == pytest.approx(0.5)
    assert (found.parts["later_compiling"], found.parts["later_rest"]) == (0.0, 0.0)


CACHED = {
    "dataset": {"chains": [[{"kind": "map"}, {"kind": "cache"}]]},
    "epoch_steps": 40,
    "first_step": 0,
    "last_step": 210,
}


def test_a_slow_first_pass_of_two_fills_the_cache():
    found = spent([40.0, 30.0, 30.0, *[10.0] * 17], **CACHED)
    # Forty steps with the warm-up's, as many as an epoch has.
    assert found.steps == 40
    assert found.parts["later_cache"] == pytest.approx(0.7)
    assert "later_input" not in found.parts


def test_intervals_that_others_disturb_decide_nothing():
    found = spent([40.0, 11.0, 30.0, 30.0, *[10.0] * 15, 80.0], **{**CACHED, "epoch_steps": 50})
    assert found.steps == 50
    assert found.parts["later_cache"] == pytest.approx(0.71)


def test_slow_steps_that_fill_most_intervals_are_not_taken_for_the_usual_ones():
    # Intervals of 120 ms: 90 slow steps in thirty of them, 108 quick ones in nine.
    steps_ms = [40.0] * 30 + [10.0] * 9
    found = spent(steps_ms, 120.0, **{**CACHED, "epoch_steps": 100})
    assert found.parts["later_cache"] == pytest.approx(90 * 0.03)
    assert spent(steps_ms, 120.0).parts["later_input"] == pytest.approx(90 * 0.03)


@pytest.mark.parametrize(
    "changed",
    [
        {"dataset": {"chains": [[{"kind": "map"}]]}},
        # Steps of the second pass were slow, too.
        {"epoch_steps": 20},
        # The first pass went on, as quickly as all later steps.
        {"epoch_steps": 100},
        # There was no second one to tell what reading takes.
        {"last_step": 44},
        {"epoch_steps": None},
    ],
)
def test_other_slow_steps_fill_none(changed):
    found = spent([40.0, 30.0, 30.0, *[10.0] * 17], **{**CACHED, **changed})
    assert found.parts["later_input"] == pytest.approx(0.7)
    assert "later_cache" not in found.parts


@pytest.mark.parametrize("steps_ms", [[40.0, 10.0, 10.0, 10.0, 10.0], [12.0] * 3 + [10.0] * 9])
def test_few_intervals_and_small_differences_say_nothing(steps_ms):
    assert "later_input" not in spent(steps_ms).parts


def test_filling_the_shuffle_buffer_takes_what_its_stages_take_for_as_many():
    # A hundred elements are ten batches, of 10 ms each.
    assert spent(**SHUFFLED).fill_s == pytest.approx(0.1)


def test_what_a_later_epoch_took_to_fill_it_tells_more():
    totals = [{"cause": "shuffle-refill", "count": 4, "total_ms": 8000.0}]
    assert spent(**SHUFFLED, event_totals=totals).fill_s == pytest.approx(2.0)


def test_filling_it_takes_no_longer_than_the_first_batch():
    totals = [{"cause": "shuffle-refill", "count": 1, "total_ms": 8000.0}]
    assert spent(**SHUFFLED, event_totals=totals).fill_s == pytest.approx(3.0)


def test_later_epochs_tell_nothing_of_a_buffer_that_was_filled_with_its_cache():
    chain = [{"kind": "map"}, {"kind": "cache"}, {"kind": "shuffle", "buffer": 100}]
    totals = [{"cause": "shuffle-refill", "count": 4, "total_ms": 8.0}]
    context = {**SHUFFLED, "dataset": {"chains": [chain]}, "event_totals": totals}
    assert spent(**context).fill_s is None


def test_a_training_that_ended_in_its_warmup_has_a_start_up():
    found = replace(measured(), steps=0, intervals=measured().intervals.iloc[:0])
    spent_then = start_up_time(found)
    assert spent_then is not None
    assert spent_then.parts["first_computing"] == 2.0


def test_without_a_first_execution_there_is_none():
    assert start_up_time(measured(start_up=None)) is None
    assert start_up_time(measured(outside=None)) is None
