"""What an epoch begins with counts once an epoch, however many steps between them are measured."""

from __future__ import annotations

from typing import Any

import pytest
from damaged import CONTEXT
from hand_built import facts_of, frame, point

from keras_perf.advise.step.step_parts import stalled
from keras_perf.analyse.of_intervals.epoch_begins import as_measured, begins_for_one
from keras_perf.analyse.refills import refills_of
from keras_perf.analyse.summary import Summary, summarize
from keras_perf.records.run.times.outlier import Cause

LENGTH = {"first_step": 0, "last_step": 210, "epoch_steps": 50}


def event(step: int, excess_ms: float, cause: str = "shuffle-refill", **changed: Any) -> Any:
    found = {"step": step, "cause": cause, "owner": "", "excess_ms": excess_ms, "usual_ms": 4.0}
    return found | changed


def half_of_the_steps(*events: Any, **changed: Any) -> Summary:
    """100 of the 200 after the warm-up: intervals of 25 steps of 4 ms, of which they wait for 1.

    The second and the fourth hold an epoch's first step each, which took 300 ms more.
    """
    long_ms = sum(e["excess_ms"] for e in events)
    total = {"cause": "shuffle-refill", "owner": "", "count": len(events), "total_ms": long_ms}
    outside = {"epoch_gaps": 4, "validations": 0, "usual_validation_s": 0.0, "validation_s": 0.0}
    outside |= {"epoch_callbacks_s": {}, "epoch_rest_s": 0.0, "warmup_steps": 10}
    context = {"events": events, "event_totals": [total] if events else [], "outside": outside}
    points = [
        point(last, 25, 4.0 + more, compute=3.0, input_wait=1.0 + more)
        for last, more in [(40, 0.0), (90, 12.0), (140, 0.0), (190, 12.0)]
    ]
    logged = [(e["step"], {Cause(e["cause"]).tag: e["excess_ms"]}) for e in events]
    return summarize(frame(*points, *logged), facts_of(LENGTH | context | changed))


def test_a_refill_counts_by_the_share_of_steps_that_are_measured():
    found = half_of_the_steps(event(50, 300.0), event(150, 300.0))
    # 600 ms among 200 steps, of which 100 are measured.
    assert found.step_ms == pytest.approx(4.0 + 3.0)
    assert found.parts == pytest.approx({"input_wait": 4.0, "compute": 3.0})
    assert list(found.intervals["step"]) == pytest.approx([4.0, 10.0, 4.0, 10.0])
    assert found.intervals["input_wait"].tolist() == pytest.approx([1.0, 7.0, 1.0, 7.0])


def test_its_share_of_the_steps_is_of_all_that_followed_the_warmup():
    found = half_of_the_steps(event(50, 300.0), event(150, 300.0))
    assert found.after_warmup == 200
    refills = refills_of(found)
    assert refills is not None
    assert (refills.count, refills.each_ms, refills.per_step_ms) == (2, 300.0, 3.0)
    assert refills.share == pytest.approx(3.0 / 7.0)
    assert stalled(found, Cause.INPUT, Cause.SHUFFLE) == pytest.approx(3.0)


def test_where_all_steps_are_measured_nothing_changes():
    found = half_of_the_steps(event(50, 300.0), event(150, 300.0), first_step=80, last_step=190)
    assert found.step_ms == pytest.approx(10.0)


@pytest.mark.parametrize(
    "other",
    [
        event(50, 300.0, cause="input-stall"),
        # Of a pause before the epoch nothing is usual: it is no part of a step.
        event(50, 300.0, cause="new-iterator", usual_ms=0.0),
        # Behind the last interval.
        event(195, 300.0),
    ],
)
def test_what_does_not_come_once_an_epoch_counts_as_it_was_measured(other):
    assert half_of_the_steps(other).step_ms == pytest.approx(10.0)


def test_a_new_iterator_counts_as_a_refill_does():
    begins = [event(step, 300.0, cause="new-iterator") for step in (50, 150)]
    assert half_of_the_steps(*begins).step_ms == pytest.approx(7.0)


def test_no_more_goes_than_the_wait_for_input():
    assert half_of_the_steps(event(50, 3000.0)).parts["input_wait"] >= 0.0
    assert list(half_of_the_steps(event(50, 3000.0)).intervals["input_wait"])[1] == 0.0


def test_of_logs_without_a_length_what_was_measured_stays():
    found = half_of_the_steps(event(50, 300.0), first_step=None, last_step=None)
    assert (found.step_ms, found.after_warmup) == (pytest.approx(10.0), 100)


def test_refills_count_that_no_record_names():
    # Of a long training's events the record names the longest, which may be pauses.
    refills = half_of_the_steps(event(50, 300.0), event(150, 300.0), events=[])
    assert refills.step_ms == pytest.approx(7.0)


def test_what_is_drawn_is_what_was_logged():
    found = half_of_the_steps(event(50, 300.0), event(150, 300.0))
    drawn = as_measured(found.intervals)
    assert list(drawn["step"]) == pytest.approx([4.0, 16.0, 4.0, 16.0])
    assert list(drawn["input_wait"]) == pytest.approx([1.0, 13.0, 1.0, 13.0])


def capture(first: int, last: int) -> Any:
    return CONTEXT["captures"][0] | {"first_step": first, "last_step": last}


def test_a_begin_that_was_captured_counts_as_those_that_were_measured():
    # Of the four after the warm-up, at 50, 100, 150 and 200, a capture holds one.
    events = [event(50, 300.0), event(100, 300.0), event(150, 300.0)]
    found = half_of_the_steps(*events, captures=[capture(200, 205)])
    assert begins_for_one(found.facts) == pytest.approx(4 / 3)
    assert stalled(found, Cause.SHUFFLE) == pytest.approx(4 * 300.0 / 200)
    refills = refills_of(found)
    assert refills is not None
    assert (refills.count, refills.per_step_ms) == (3, pytest.approx(6.0))


def test_what_captures_leave_out_of_an_epoch_s_begins_is_added():
    # All other steps are measured: 110 after 80, of which one epoch's begin is captured.
    found = half_of_the_steps(
        event(150, 300.0), first_step=80, last_step=190, captures=[capture(128, 135)]
    )
    assert begins_for_one(found.facts) == 2.0
    assert found.step_ms == pytest.approx(4.0 + 6.0 + 300.0 / 100)


@pytest.mark.parametrize(
    "captures",
    [
        [],
        # Amid an epoch.
        [capture(110, 120)],
        # Of the warm-up.
        [capture(0, 5)],
        # All of it: nothing tells of a begin.
        [capture(0, 210)],
    ],
)
def test_captures_that_leave_out_no_begin_or_all_of_them_change_nothing(captures):
    found = half_of_the_steps(event(50, 300.0), event(150, 300.0), captures=captures)
    assert begins_for_one(found.facts) == 1.0
    assert found.step_ms == pytest.approx(7.0)


def test_of_a_training_that_goes_on_the_newest_interval_is_the_end():
    # The record was written long before: 10 to 190 are 180 steps.
    found = half_of_the_steps(event(50, 300.0), event(150, 300.0), last_step=60)
    assert found.after_warmup == 180
