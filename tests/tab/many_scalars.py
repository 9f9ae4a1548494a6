"""Runs as long trainings leave them, for the tests of the tab and for its benchmark."""

from __future__ import annotations

from pathlib import Path

from keras_perf.write.run_writer import RunWriter

STEPS = 10
"""Of an interval."""

SENSORS = {
    "gpu/0/utilization_pct": 90.0,
    "gpu/0/min_utilization_pct": 50.0,
    "gpu/0/max_utilization_pct": 100.0,
    "gpu/0/memory_used_mib": 40_000.0,
    "gpu/0/power_w": 400.0,
    "gpu/0/sm_clock_mhz": 1_800.0,
    "gpu/0/temperature_c": 60.0,
    "host/cpu_pct": 40.0,
    "host/process_cpu_pct": 300.0,
    "host/memory_used_mib": 20_000.0,
    "host/process_memory_mib": 9_000.0,
    "host/read_mib_per_sec": 80.0,
}
SCALARS = 8 + len(SENSORS)
"""Of an interval, too."""


def write_intervals(log_dir: Path, count: int, first: int = 0, wait_ms: float = 3.0) -> None:
    """A file of a run, with `SCALARS` values an interval.

    Arguments:
        log_dir: of the run.
        count: of intervals.
        first: the number of the first one.
        wait_ms: what a step waits for its input, beside 1 to 1.9 ms for all else.
    """
    writer = RunWriter(str(log_dir))
    for number in range(first, first + count):
        compute = 0.6 + number % 10 / 10
        values = {
            "perf/step_time_ms": wait_ms + compute + 0.4,
            "perf/input_wait_ms": wait_ms,
            "perf/compute_ms": compute,
            "perf/dispatch_ms": 0.2,
            "perf/callbacks_ms": 0.1,
            "perf/other_host_ms": 0.1,
            "perf/interval_steps": float(STEPS),
            "perf/examples_per_sec": 6_400.0,
        }
        sensed = {tag: value + number % 7 for tag, value in SENSORS.items()}
        writer.scalars((number + 1) * STEPS, values | sensed, wall_time=1e9 + number)
    writer.context((first + count) * STEPS, {"examples_per_step": 32.0})
    writer.close()


def event_file(log_dir: Path) -> Path:
    """The only one of a run."""
    [file] = log_dir.rglob("events*")
    return file
