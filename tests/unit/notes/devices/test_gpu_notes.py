"""When something is said about a GPU, and when not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.devices.gpu import gpu_notes

HEALTHY = {
    "utilization_pct": 95.0,
    "p5_utilization_pct": 90.0,
    "p95_utilization_pct": 100.0,
    "sm_active_pct": 80.0,
    "tensor_active_pct": 40.0,
    "throttled_power_cap_pct": 2.0,
    "throttled_thermal_pct": 0.0,
    "throttled_power_brake_pct": 0.0,
    "pcie_lanes": 16.0,
    "pcie_max_lanes": 16.0,
    "pcie_generation": 5.0,
    "pcie_max_generation": 5.0,
    "other_processes": 0.0,
}
CONTEXT = {
    "layer_widths": [512],
    "gpu_memory_total_mib": 1000.0,
    "gpu_memory_peak_mib": 800.0,
}


def found(*gpus, context=None, input_wait=0.5, without=()):
    """What is said of GPUs that differ from a healthy one so much; a step takes 10 ms."""
    sensors = {
        f"gpu/{index}/{name}": value
        for index, changed in enumerate(gpus or ({},))
        for name, value in (HEALTHY | changed).items()
        if name not in without
    }
    run = summary(
        sensors=sensors,
        context=CONTEXT | (context or {}),
        input_wait=input_wait,
        compute=10.0 - input_wait,
    )
    return list(gpu_notes(diagnosed(run)))


def test_nothing_is_said_of_a_healthy_gpu():
    assert found() == []
    assert found({}, {}) == []


def test_nothing_is_said_where_no_gpu_was_sampled():
    assert list(gpu_notes(diagnosed(summary(compute=10.0, context=CONTEXT)))) == []


def test_nothing_is_said_of_what_was_not_sampled():
    assert found(without=HEALTHY.keys() - {"power_w", "utilization_pct"}) == []
    assert not list(gpu_notes(diagnosed(summary(compute=10.0, sensors={"gpu/0/power_w": 1.0}))))


@pytest.mark.parametrize(
    ("sensors", "context", "input_wait", "what"),
    [
        ({"utilization_pct": 49.0}, {}, 2.0, "starves"),
        ({"p5_utilization_pct": 5.0, "p95_utilization_pct": 80.0}, {}, 0.5, "reaches it in bursts"),
        (
            {"utilization_pct": 80.0, "sm_active_pct": 30.0},
            {},
            0.5,
            "launching them takes",
        ),
        (
            {"utilization_pct": 99.0, "graphics_active_pct": 95.0, "sm_active_pct": 30.0},
            {},
            0.5,
            "its kernels are small. Larger batches fill it.",
        ),
        ({"sm_active_pct": 50.0, "tensor_active_pct": 2.0}, {}, 0.5, "its tensor cores for"),
        ({}, {"gpu_memory_peak_mib": 500.0}, 0.5, "room for larger batches"),
        ({"throttled_power_cap_pct": 10.0}, {}, 0.5, "lowered clocks"),
        ({"throttled_thermal_pct": 10.0}, {}, 0.5, "lowered clocks"),
        ({"throttled_power_brake_pct": 10.0}, {}, 0.5, "lowered clocks"),
        ({"throttled_hardware_pct": 10.0}, {}, 0.5, "lowered clocks"),
        ({"pcie_lanes": 8.0}, {}, 0.5, "PCIe link"),
        ({"pcie_generation": 3.0}, {}, 0.5, "PCIe link"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_else(sensors, context, input_wait, what):
    (said,) = found(sensors, context=context, input_wait=input_wait)
    assert what in said
    assert said.endswith(".")


def test_of_a_gpu_that_was_watched_for_less_than_a_second_nothing_is_said_of_what_it_does():
    sensors = {"gpu/0/utilization_pct": 10.0}
    for steps, said in ((90, 0), (100, 1)):
        run = summary(steps, sensors=sensors, input_wait=5.0, compute=5.0)
        assert sum("starves" in each for each in gpu_notes(diagnosed(run))) == said


def test_an_interval_in_which_it_idled_while_a_trial_compiled_makes_no_gpu_starve():
    run = summary(sensors={"gpu/0/utilization_pct": 40.0}, input_wait=5.0, compute=5.0)
    for usual, said in ((40.0, 1), (90.0, 0)):
        told = replace(run, usual={"gpu/0/utilization_pct": usual})
        assert sum("starves" in each for each in gpu_notes(diagnosed(told))) == said


@pytest.mark.parametrize(
    ("sensors", "context", "input_wait"),
    [
        ({"utilization_pct": 49.0}, {}, 1.9),
        ({"utilization_pct": 50.0}, {}, 9.0),
        ({"p5_utilization_pct": 5.0, "p95_utilization_pct": 79.0}, {}, 0.5),
        ({"p5_utilization_pct": 6.0}, {}, 0.5),
        ({"utilization_pct": 79.0, "sm_active_pct": 30.0}, {}, 0.5),
        ({"sm_active_pct": 31.0}, {}, 0.5),
        ({"sm_active_pct": 49.0, "tensor_active_pct": 0.0}, {}, 0.5),
        ({"sm_active_pct": 50.0, "tensor_active_pct": 2.1}, {}, 0.5),
        ({"sm_active_pct": 50.0, "tensor_active_pct": 0.0}, {"layer_widths": []}, 0.5),
        ({}, {"gpu_memory_peak_mib": 501.0}, 0.5),
        ({}, {"gpu_memory_peak_mib": None}, 0.5),
        ({}, {"gpu_memory_peak_mib": 1.0, "gpu_memory_total_mib": None}, 0.5),
        ({"throttled_power_cap_pct": 9.9}, {}, 0.5),
        ({"utilization_pct": 49.0, "pcie_generation": 1.0}, {}, 0.5),
    ],
)
def test_just_short_of_it_nothing_is_said(sensors, context, input_wait):
    assert found(sensors, context=context, input_wait=input_wait) == []


def test_the_worst_reason_of_throttling_is_named():
    (said,) = found({"throttled_power_cap_pct": 20.0, "throttled_thermal_pct": 60.0})
    assert "60% of the time against heat" in said
    # The hardware's own contains heat, which says more.
    (said,) = found({"throttled_thermal_pct": 60.0, "throttled_hardware_pct": 60.0})
    assert "60% of the time against heat" in said


@pytest.mark.parametrize(
    ("told", "named"), [({}, False), ({"gpu/0": True}, False), ({"gpu/0": False}, True)]
)
def test_persistence_mode_is_spoken_of_where_the_driver_says_that_it_is_off(told, named):
    said = found(context={"gpu_persistence": told})
    assert len(said) == named
    assert all(each.startswith("Persistence mode of GPU 0 is off") for each in said)


def test_each_gpu_is_judged_by_itself():
    (said,) = found({}, {"throttled_thermal_pct": 50.0})
    assert said.startswith("GPU 1 ran with lowered clocks")


def test_of_a_gpu_that_others_train_beside_nothing_is_said():
    sensors = {"gpu/0/utilization_pct": 90.0, "gpu/1/utilization_pct": 0.0}
    run = summary(input_wait=5.0, compute=5.0, sensors=sensors)
    assert not any("GPU 1" in each for each in gpu_notes(diagnosed(run)))
