"""The memory of devices: several of them, full, empty and growing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.devices.gpu import gpu_notes
from keras_perf.advise.notes.memory.device_memory import device_memory_notes
from keras_perf.analyse.growth import Growth
from keras_perf.report.text.measured_tables import DEVICES, measured_tables

GROWTH = Growth(600.0, 550.0, 650.0, 0.01, 50.0, 300.0, None)


def device(name="GPU:0", current=2000.0, peak=8000.0, limit=10_000.0):
    return {"name": name, "current_mib": current, "peak_mib": peak, "limit_mib": limit}


def run(*devices, growth=(), **context):
    sensors = {f"gpu/{i}/allocated_mib": 1.0 for i in range(len(devices))}
    found = summary(
        compute=10.0, sensors=sensors, context={"device_memory": list(devices), **context}
    )
    return replace(found, growth=dict.fromkeys(growth, GROWTH))


def test_a_device_with_some_room_and_a_level_is_not_spoken_of():
    healthy = run(device())
    assert list(device_memory_notes(diagnosed(healthy))) == []
    assert list(gpu_notes(diagnosed(healthy))) == []


def test_a_machine_without_a_gpu_says_nothing_of_devices():
    assert list(device_memory_notes(diagnosed(run()))) == []
    assert [title for title, *_ in measured_tables(run())] == []


def test_the_one_that_is_nearly_full_is_named():
    [note] = device_memory_notes(diagnosed(run(device(), device("GPU:1", peak=9600.0))))
    assert note.startswith("The memory of GPU:1 was nearly full: 9,600 of the 10,000 MiB")


def test_a_peak_of_what_ran_before_in_the_process_is_not_this_training_s():
    devices = device(peak=9600.0), device("GPU:1", peak=4000.0)
    found = run(*devices, examples_per_step=64.0, earlier_peaks={"GPU:0": 9600.0, "GPU:1": 4000.0})
    assert list(device_memory_notes(diagnosed(found))) == []
    [room] = gpu_notes(diagnosed(found))
    assert "would take" not in room
    [(_, _, rows)] = [table for table in measured_tables(found) if table[0] == DEVICES]
    assert rows[0] == ["GPU:0", "2000", "≤ 9600", "10000", "≥ 400", "≤ 17200"]
    raised = run(device(peak=9601.0), earlier_peaks={"GPU:0": 9600.0})
    assert len(list(device_memory_notes(diagnosed(raised)))) == 1


def test_growth_of_one_is_told_with_what_is_left():
    growing = run(device(), device("GPU:1"), growth=["gpu/1/allocated_mib"])
    [note] = device_memory_notes(diagnosed(growing))
    assert "on GPU:1 between two steps grows and does not level out: by 600 MiB an hour" in note
    assert "What is left, 2,000 MiB, would last for 3.3 hours." in note


@pytest.mark.parametrize(("peak", "said"), [(5000.0, True), (5100.0, False)])
def test_room_is_told_of_every_device_with_what_twice_the_batch_takes(peak, said):
    devices = [device(), device("GPU:1", peak=peak)]
    found = list(gpu_notes(diagnosed(run(*devices, examples_per_step=64.0))))
    assert bool(found) == said
    if said:
        assert found == [
            "Training needed 5000 MiB of the 10000 MiB of GPU 1: there is room for larger "
            "batches; one of 128 examples would take about 8000 MiB."
        ]


def test_the_table_has_a_row_for_every_device():
    unlimited = {**device("GPU:1"), "limit_mib": None}
    [(title, header, rows)] = measured_tables(run(device(), unlimited))
    assert title == DEVICES
    assert header[-1] == "peak with twice the batch"
    assert rows == [
        ["GPU:0", "2000", "8000", "10000", "2000", "14000"],
        ["GPU:1", "2000", "8000", "–", "–", "14000"],
    ]


@pytest.mark.parametrize(
    ("policy", "replicas", "end"),
    [
        ("float32", 1, "mixed precision needs less, and so does the optimizer's gradient_"),
        ("float32", 2, "; mixed precision needs less."),
        ("mixed_bfloat16", 1, "; the optimizer's gradient_accumulation_steps in place of a larger"),
        ("mixed_bfloat16", 2, "A larger batch is unlikely to fit."),
    ],
)
def test_what_needs_less_memory_is_what_is_not_there_already(policy, replicas, end):
    full = run(device(peak=9600.0))
    settings = replace(full.facts.settings, dtype_policy=policy, replicas=replicas)
    found = replace(full, facts=replace(full.facts, settings=settings))
    [note] = device_memory_notes(diagnosed(found))
    assert end in note
