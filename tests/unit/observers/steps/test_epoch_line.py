"""One line about the GPUs for each epoch."""

from __future__ import annotations

from keras_perf.observers.sensors.epoch_line import EpochLine


def test_the_line_has_the_means_of_its_intervals_by_their_steps():
    line = EpochLine()
    line.add({"gpu/0/utilization_pct": 90.0, "gpu/0/mean_power_w": 300.0}, 30)
    line.add({"gpu/0/utilization_pct": 10.0}, 10)
    assert line.take() == "GPU 0: utilization 70%, 300 W"


def test_gpus_are_in_the_order_of_their_numbers():
    line = EpochLine()
    line.add({f"gpu/{i}/utilization_pct": float(i) for i in (10, 2)}, 1)
    assert line.take() == "GPU 2: utilization 2%; GPU 10: utilization 10%"


def test_without_a_gpu_there_is_no_line():
    line = EpochLine()
    line.add({"host/cpu_pct": 50.0}, 1)
    assert line.take() is None


def test_taking_begins_anew():
    line = EpochLine()
    line.add({"gpu/0/utilization_pct": 90.0}, 1)
    line.take()
    assert line.take() is None
