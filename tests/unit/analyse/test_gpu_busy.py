"""How much of the time a GPU computes, and when nothing tells."""

from __future__ import annotations

import math

import pytest
from hand_built import H200, frame, summary

from keras_perf.analyse.hardware.gpu_busy import busy_share, own_share
from keras_perf.analyse.summary import summarize
from keras_perf.records.run.run_facts import RunFacts

ACTIVE, USED, OTHERS = "graphics_active_pct", "utilization_pct", "other_processes"


def share(steps=200, context=None, told=busy_share, **sensors):
    """Of steps of ten milliseconds."""
    tags = {f"gpu/0/{name}": value for name, value in sensors.items()}
    found = H200 if context is None else context
    return told(summary(steps, compute=10.0, sensors=tags, context=found))


@pytest.mark.parametrize(
    ("sensors", "busy"),
    [
        ({ACTIVE: 60.0}, 0.6),
        ({ACTIVE: 60.0, USED: 90.0}, 0.6),
        ({USED: 90.0}, 0.9),
        ({ACTIVE: 100.4}, 1.0),
        ({ACTIVE: math.nan, USED: 90.0}, 0.9),
        ({ACTIVE: 60.0, OTHERS: 0.0}, 0.6),
        ({ACTIVE: 60.0, OTHERS: 1.0}, None),
        ({}, None),
    ],
)
def test_it_is_the_share_in_which_any_kernel_ran(sensors, busy):
    assert share(**sensors) == busy


def test_what_another_gpu_does_than_the_one_that_holds_the_model_is_not_counted():
    context = H200 | {"variables_on": {"GPU:0": 4}}
    context["device_memory"] = [
        {"name": f"GPU:{i}", "current_mib": 1.0, "peak_mib": 1.0} for i in (0, 1)
    ]
    sensors = {f"gpu/0/{USED}": 40.0, f"gpu/1/{USED}": 98.0, f"gpu/1/{OTHERS}": 1.0}
    assert busy_share(summary(200, compute=10.0, sensors=sensors, context=context)) == 0.4
    context.pop("variables_on")
    assert busy_share(summary(200, compute=10.0, sensors=sensors, context=context)) is None


def test_of_less_than_a_second_nothing_is_told():
    assert share(steps=90, **{ACTIVE: 60.0}) is None
    assert share(steps=100, **{ACTIVE: 60.0}) == 0.6


@pytest.mark.parametrize(
    "context",
    [
        {},
        H200 | {"operations_on": "CPU:0"},
        H200 | {"variables_on": {"CPU:0": 4}},
    ],
)
def test_of_a_training_on_the_cpu_a_gpu_tells_nothing(context):
    assert share(context=context, **{ACTIVE: 60.0}) is None


def test_that_kernels_are_our_own_is_sure_where_the_other_processes_are_known():
    assert share(told=own_share, **{ACTIVE: 60.0}) is None
    assert share(told=own_share, **{ACTIVE: 60.0, OTHERS: 0.0}) == 0.6
    assert share(told=own_share, **{ACTIVE: 60.0, OTHERS: 1.0}) is None


def test_the_busiest_of_the_gpus_that_train_is_told():
    memory = {"current_mib": 1.0, "peak_mib": 1.0}
    devices = [memory | {"name": f"GPU:{number}"} for number in (1, 2)]
    sensors = {f"gpu/{number}/{ACTIVE}": 90.0 - 20 * number for number in range(3)}
    found = summary(compute=10.0, sensors=sensors, context=H200 | {"device_memory": devices})
    assert busy_share(found) == 0.7


def test_a_trial_or_a_capture_in_one_interval_changes_nothing():
    """Nor does the warm-up, in the first one."""
    told = [5.0, 97.0, 29.0, 97.0, 97.0]
    points = [
        (50 * (at + 1), {"perf/steps": 50.0, "perf/step_time_ms": 10.0, f"gpu/0/{ACTIVE}": value})
        for at, value in enumerate(told)
    ]
    found = summarize(frame(*points), RunFacts())
    assert found.usual == {f"gpu/0/{ACTIVE}": 97.0}
    assert found.sensors[f"gpu/0/{ACTIVE}"] == pytest.approx(80.0)
    few = summarize(frame(*points[:3]), RunFacts())
    assert few.usual == {}
