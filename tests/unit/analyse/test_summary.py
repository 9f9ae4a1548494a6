"""From a frame of scalars to means over a run."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hand_built import facts_of, frame, point, stage
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_perf.analyse.summary import Summary, summarize
from keras_perf.records.interval import PARTS


def summary_of(*points: tuple[int, dict[str, float]], **context: object) -> Summary:
    return summarize(frame(*points), facts_of(context))


def test_intervals_weigh_as_many_steps_as_they_have():
    found = summary_of(
        point(30, 30, 4.0, input_wait=1.0, compute=3.0),
        point(40, 10, 8.0, input_wait=5.0, compute=3.0),
    )
    assert (found.steps, found.step_ms) == (40, 5.0)
    assert found.parts == {"input_wait": 2.0, "compute": 3.0}


def test_a_part_measured_in_some_intervals_only_is_taken_out_of_compute_in_the_others():
    found = summary_of(
        point(10, 10, 4.0, compute=4.0),
        point(20, 10, 4.0, compute=3.0, dispatch=1.0),
    )
    assert found.parts == {"compute": 3.0, "dispatch": 1.0}


def test_parts_known_in_different_intervals_are_no_more_than_the_step():
    found = summary_of(
        point(10, 10, 10.0, compute=1.0, callbacks=9.0),
        point(20, 10, 10.0, input_wait=9.0, compute=1.0, callbacks=0.0),
    )
    assert sum(found.parts.values()) == found.step_ms == 10.0


def test_a_part_that_was_never_measured_is_absent_and_no_zero():
    found = summary_of(point(10, 10, 4.0, compute=3.0, callbacks=1.0))
    assert set(found.parts) == {"compute", "callbacks"}


def test_a_part_logged_as_missing_is_absent_and_no_zero():
    found = summary_of(point(10, 10, 4.0, compute=4.0, input_wait=math.nan))
    assert found.parts == {"compute": 4.0}


def test_the_parts_come_in_the_order_in_which_they_are_shown():
    found = summary_of(point(10, 10, 6.0, **dict.fromkeys(reversed(PARTS), 1.0)))
    assert tuple(found.parts) == PARTS


def test_a_callback_that_was_silent_in_an_interval_took_no_time_there():
    found = summary_of(
        (10, point(10, 10, 4.0, compute=4.0)[1] | {"perf_callbacks/A.on_train_batch_end_ms": 1.0}),
        point(40, 30, 4.0, compute=4.0),
    )
    assert found.owners == {"A.on_train_batch_end": 0.25}


def test_sensors_are_means_of_what_was_sampled():
    found = summary_of(
        point(10, 10, 4.0, compute=4.0),
        (12, {"host/cpu_pct": 90.0, "gpu/0/power_w": 300.0}),
        (24, {"host/cpu_pct": 40.0}),
        (36, {"host/cpu_pct": 20.0}),
    )
    # The first point of a sensor stands for the time of tracing and warm-up.
    assert found.sensors == {
        "host/cpu_pct": pytest.approx(30.0),
        "gpu/0/power_w": 300.0,
    }
    assert found.steps == 10


STEPS = [0, 100, 200, 300, 303]


def test_sensors_weigh_as_long_as_the_steps_that_they_stand_for():
    """The last point comes after a validation of a minute, and its interval was short.

    Who samples is an execution ahead of who times the steps.
    """
    timed = [point(step, step - before, 4.0, compute=4.0) for before, step in pairwise(STEPS)]
    sensed = [(step + 1, {"host/cpu_pct": 90.0 if step < 303 else 30.0}) for step in STEPS[1:]]
    for ahead in (0, 1):
        scalars = frame(*timed, *((step - 1 + ahead, values) for step, values in sensed))
        scalars.loc[scalars["step"] >= 303, "wall_time"] += 60.0
        found = summarize(scalars, facts_of({}))
        assert found.sensors["host/cpu_pct"] == pytest.approx((200 * 90 + 3 * 30) / 203)


def test_an_interval_without_its_number_of_steps_does_not_count():
    found = summary_of(point(10, 10, 4.0, compute=4.0), (20, {"perf/step_time_ms": 99.0}))
    assert (found.steps, found.step_ms) == (10, 4.0)


def test_intervals_are_kept_for_resampling():
    found = summary_of(
        point(10, 10, 4.0, compute=4.0), point(20, 10, 6.0, compute=5.0, input_wait=1.0)
    )
    assert list(found.intervals["steps"]) == [10.0, 10.0]
    assert list(found.intervals["step"]) == [4.0, 6.0]
    assert list(found.intervals["compute"]) == [4.0, 5.0]


@pytest.mark.parametrize("points", [[], [(5, {"host/cpu_pct": 20.0})]])
def test_a_run_that_measured_no_step_has_a_summary_that_says_so(points):
    found = summary_of(*points)
    assert found.steps == 0
    assert math.isnan(found.step_ms)
    assert found.parts == {}
    assert len(found.intervals) == 0


@pytest.mark.parametrize(
    ("context", "examples"),
    [({}, None), ({"examples_per_step": None}, None), ({"examples_per_step": 32}, 32.0)],
)
def test_the_batch_size_is_known_where_it_was_recorded(context, examples):
    found = summary_of(point(10, 10, 4.0, compute=4.0), **context)
    assert found.examples_per_step == examples


# -- between epochs ----------------------------------------------------------------------

OUTSIDE = {
    "epoch_gaps": 2,
    "validation_s": 6.0,
    "usual_validation_s": 1.0,
    "validations": 5,
    "epoch_callbacks_s": {"A.on_epoch_end": 2.0, "B.on_epoch_begin": 1.0},
    "epoch_rest_s": 0.5,
}


def test_what_lies_between_epochs_is_shared_by_all_steps_of_the_fit():
    found = summary_of(
        point(10, 10, 4.0, compute=4.0), outside=OUTSIDE, first_step=500, last_step=1500
    )
    # A thousand steps, of which ten are reported.
    # The first of the five validations took a second more, to trace.
    assert found.outside == {
        "validation": 5.0,
        "validation_tracing": 1.0,
        "validation_ends": 0.0,
        "epoch_callbacks": 3.0,
        "epoch_rest": 0.5,
    }
    assert found.whole_ms == 4.0 + 9.5


@pytest.mark.parametrize(
    "context",
    [
        {},
        {"outside": None, "first_step": 0, "last_step": 10},
        {"outside": {}, "first_step": 0, "last_step": 10},
        {"outside": OUTSIDE},
        {"outside": OUTSIDE, "first_step": 10, "last_step": 10},
    ],
)
def test_where_it_is_not_known_the_whole_is_the_step(context):
    found = summary_of(point(10, 10, 4.0, compute=4.0), **context)
    assert found.outside == {}
    assert found.whole_ms == 4.0


def test_a_fit_without_validation_or_epoch_hooks_has_none_of_either():
    nothing = {
        "validation_s": 0.0,
        "usual_validation_s": 0.0,
        "validations": 0,
        "epoch_callbacks_s": {},
        "epoch_rest_s": 0.0,
    }
    found = summary_of(point(10, 10, 4.0, compute=4.0), outside=nothing, first_step=0, last_step=10)
    assert set(found.outside.values()) == {0.0}
    assert found.whole_ms == 4.0


# -- the garbage collector ---------------------------------------------------------------


def test_pauses_of_the_collector_are_a_mean_over_steps_and_no_part():
    found = summary_of(
        point(30, 30, 4.0, compute=4.0, garbage_collection=0.0),
        point(40, 10, 8.0, compute=8.0, garbage_collection=2.0),
    )
    assert found.garbage_ms == 0.5
    assert found.parts == {"compute": 5.0}


def test_an_interval_that_logged_no_pauses_had_none():
    found = summary_of(
        point(10, 10, 4.0, compute=4.0),
        point(20, 10, 4.0, compute=4.0, garbage_collection=2.0),
    )
    assert found.garbage_ms == 1.0


@pytest.mark.parametrize("points", [[], [point(10, 10, 4.0, compute=4.0)]])
def test_a_run_that_never_logged_pauses_had_none(points):
    assert summary_of(*points).garbage_ms == 0.0


# -- the parts ---------------------------------------------------------------------------


@st.composite
def intervals(draw: st.DrawFn) -> list[tuple[int, dict[str, float]]]:
    """Points whose parts add up to their step; some parts are not measured everywhere."""
    points, last = [], 0
    for _ in range(draw(st.integers(1, 6))):
        steps = draw(st.integers(1, 200))
        parts = {part: draw(st.floats(0.01, 50)) for part in PARTS}
        total = sum(parts.values())
        for part in ("input_wait", "dispatch"):
            if draw(st.booleans()):
                parts["compute"] += parts.pop(part)
        last += steps
        points.append(point(last, steps, total, **parts))
    return points


@given(points=intervals())
@settings(max_examples=100, deadline=None)
def test_the_parts_add_up_to_the_step(points):
    found = summary_of(*points)
    assert sum(found.parts.values()) == pytest.approx(found.step_ms)
    assert min(found.parts.values()) >= 0
    assert found.steps == sum(int(values["perf/interval_steps"]) for _, values in points)


def exchanging(last_step: int, steps: int, ms: float) -> tuple[int, dict[str, float]]:
    """An interval of steps of 10 ms, whose exchange is all waiting and twice the skew."""
    means = {"communication": ms, "peer_wait": ms, "skew": ms / 2}
    step, values = point(last_step, steps, 10.0, compute=9.0, callbacks=1.0, **means)
    return step, values | {"perf/slowest_worker": 1.0}


def test_the_exchange_is_a_mean_over_the_intervals_that_measured_it():
    first = point(10, 10, 10.0, compute=9.0, callbacks=1.0)
    found = summary_of(first, exchanging(20, 10, 2.0), exchanging(50, 30, 4.0))
    assert found.exchange == pytest.approx({"communication": 3.5, "peer_wait": 3.5, "skew": 1.75})
    assert found.wire_ms == 0.0
    assert found.intervals["slowest_worker"].tolist()[1:] == [1.0, 1.0]
    assert found.as_worker(3) == (3, 50, 10.0, None, 5.5, 3.5, 1.0, 0.0)


def test_without_an_exchange_there_are_no_means_of_it():
    assert summary_of(point(10, 10, 10.0, compute=10.0)).exchange == {}


def test_names_of_a_log_directory_become_one_visible_line():
    step, values = point(10, 10, 4.0)
    scalars = frame((step, values | {"perf_callbacks/My\n\x1b.hook_ms": 1.0}))
    context = {"stages": [stage("Map\u202e", 1.0)], "event_totals": [{"owner": "My\n\x1b.hook"}]}
    found = summarize(scalars, facts_of(context))
    assert list(found.owners) == [r"My\n\x1b.hook"]
    assert [each.name for each in found.facts.input.stages] == [r"Map\u202e"]
    assert [each.owner for each in found.facts.outliers.event_totals] == [r"My\n\x1b.hook"]
