"""From what a training logged of its memory to what its diagnosis says."""

from __future__ import annotations

import pytest

from keras_perf.report.diagnosis import diagnose
from keras_perf.write.run_writer import RunWriter

GPUS = [
    {"name": f"GPU:{i}", "current_mib": 4000.0, "peak_mib": 6000.0, "limit_mib": 10_000.0}
    for i in range(2)
]


def train(log_dir, memory, device=lambda s: 4000.0, minutes=10):
    """Ten steps each half second, 20 s an epoch; memory in MiB of seconds."""
    writer = RunWriter(str(log_dir))
    points = int(120 * minutes)
    for place in range(1, points + 1):
        seconds = place / 2
        values = {"perf/step_time_ms": 50.0, "perf/interval_steps": 10.0, "perf/compute_ms": 50.0}
        values |= {
            "host/process_memory_mib": memory(seconds),
            "gpu/0/allocated_mib": 4000.0,
            "gpu/1/allocated_mib": device(seconds),
        }
        writer.scalars(10 * place, values, wall_time=1e9 + seconds)
    facts = {
        "first_step": 0,
        "last_step": 10 * points,
        "epoch_steps": 400,
        "memory_available_mib": 7200.0,
        "function_traces": 1,
        "device_memory": GPUS,
        "ending": {"how": "done"},
    }
    writer.context(10 * points, facts)
    writer.close()
    return [note for note in diagnose(log_dir).notes if "grows" in note]


def test_a_leak_from_step_to_step_is_told_with_its_size(tmp_path):
    [note] = train(tmp_path, lambda s: 2000 + s)
    assert "The memory of this process grows" in note
    assert "by 3,600 MiB an hour (3,600–3,600), 51.2 KiB a step" in note
    assert "would last for 2 hours" in note
    assert "from step to step" in note


def test_a_dataset_made_in_each_epoch_is_told_as_such(tmp_path):
    [note] = train(tmp_path, lambda s: 2000 + 50 * int((20 * s - 1) // 400))
    assert "100% of it comes where an epoch ends" in note
    assert "made anew for each epoch" in note


def test_what_grows_on_the_second_device_is_told_of_it(tmp_path):
    [note] = train(tmp_path, lambda s: 2000.0, device=lambda s: 4000 + s)
    assert "on GPU:1 between two steps grows" in note
    assert "What is left, 4,000 MiB, would last for 67 minutes" in note


@pytest.mark.parametrize(
    ("memory", "minutes"),
    [
        (lambda s: 2000.0, 10),
        (lambda s: 1000 + 20 * min(s, 120), 10),
        (lambda s: 2000 + 10 * s, 0.5),
    ],
    ids=["level", "fills and levels out", "short"],
)
def test_a_healthy_training_and_a_short_one_are_not_spoken_of(memory, minutes, tmp_path):
    assert train(tmp_path, memory, minutes=minutes) == []
