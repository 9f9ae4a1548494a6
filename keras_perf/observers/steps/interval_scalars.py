"""Tag and value of one interval of training."""

from __future__ import annotations

from keras_perf.records.interval import Interval


def interval_scalars(interval: Interval, examples_per_step: float | None) -> dict[str, float]:
    """Milliseconds per step, and throughput; what was not measured is absent."""
    values = {"perf/step_time_ms": interval.step_ms}
    values |= {f"perf/{part}_ms": ms for part, ms in interval.per_step_ms().items()}
    per_sec = 1e3 / interval.step_ms
    values["perf/steps_per_sec"] = per_sec
    if examples_per_step is not None:
        values["perf/examples_per_sec"] = per_sec * examples_per_step
    values["perf/garbage_collection_ms"] = interval.collector_ns / interval.steps / 1e6
    values["perf/interval_steps"] = float(interval.steps)
    for owner, spent in interval.owners.items():
        values[f"perf_callbacks/{owner}_ms"] = spent / interval.steps / 1e6
    return values
