"""An input that reads: what is said of the disk, the network, and their limits."""

from __future__ import annotations

import pytest
from hand_built import diagnosed, summary

from keras_perf.advise.notes.input.reading import reading_notes

READS = {
    "host/process_cpu_pct": 20.0,
    "host/read_mib_per_sec": 150.0,
    "host/disk_busy_pct": 30.0,
    "host/network_received_mib_per_sec": 0.1,
}
FILES = {"dataset": {"chains": [[{"kind": "map", "reads_files": True}]]}}


def notes(sensors=READS, verdict="input-bound", context=None):
    run = summary(sensors=sensors, context=context, input_wait=15.0, compute=5.0)
    return list(reading_notes(diagnosed(run, verdict)))


def test_reading_that_sets_the_pace_is_told_with_its_rate():
    [note] = notes()
    assert "150 MiB/s from storage, 3 MiB a step" in note
    assert "20% of the time of one CPU" in note


@pytest.mark.parametrize(
    ("busy", "told"),
    [
        (30.0, "it could deliver more"),
        (95.0, "a hard disk is at its limit then; whether an SSD is, is unknown"),
        (None, "is unknown: the system does not report how busy it is"),
    ],
)
def test_whether_the_disk_is_at_its_limit_is_told_where_it_can_be_known(busy, told):
    sensors = {tag: v for tag, v in (READS | {"host/disk_busy_pct": busy}).items() if v is not None}
    [note] = notes(sensors)
    assert told in note


def test_files_that_come_over_the_network_are_told_of():
    sensors = READS | {"host/read_mib_per_sec": 0.0, "host/network_received_mib_per_sec": 80.0}
    [note] = notes(sensors, context=FILES)
    assert "receives 80 MiB/s from the network" in note
    assert "is unknown" in note
    assert notes(sensors) == []


@pytest.mark.parametrize(
    ("sensors", "verdict"),
    [
        (READS, "compute-bound"),
        (READS | {"host/process_cpu_pct": 60.0}, "input-bound"),  # it computes
        (READS | {"host/read_mib_per_sec": 0.5}, "input-bound"),
        ({"host/read_mib_per_sec": 150.0}, "input-bound"),
        ({}, "input-bound"),
    ],
)
def test_an_input_that_does_something_else_is_not_called_reading(sensors, verdict):
    assert notes(sensors, verdict) == []
