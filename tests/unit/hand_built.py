"""Summaries, situations and log directories with figures that a test can do in its head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from keras_perf.advise.step_model import Situation, situation_of
from keras_perf.analyse.summary import Summary
from keras_perf.write.events import RunWriter


def stage(
    name: str, cost_ms: float, *, parallelism: int = 1, bytes_per_batch: float = 0.0
) -> dict[str, Any]:
    """A stage as the context record holds it."""
    return {
        "name": name,
        "cost_ms": cost_ms,
        "parallelism": parallelism,
        "bytes_per_batch": bytes_per_batch,
    }


def summary(
    steps: int = 200,
    *,
    owners: Mapping[str, float] | None = None,
    process_cpu_pct: float = 0.0,
    stages: Sequence[Mapping[str, Any]] = (),
    context: Mapping[str, Any] | None = None,
    **parts: float,
) -> Summary:
    """A summary whose step is the sum of its parts, from intervals of ten steps."""
    step = sum(parts.values())
    count = steps // 10
    columns = {"steps": 10.0, "step": step, **parts}
    return Summary(
        steps=steps,
        step_ms=step,
        parts=parts,
        owners=owners or {},
        sensors={"host/process_cpu_pct": process_cpu_pct} if process_cpu_pct else {},
        context={"stages": list(stages), "cpu_count": 8, **(context or {})},
        intervals=pd.DataFrame({name: [value] * count for name, value in columns.items()}),
    )


def situation(steps: int = 200, **arguments: Any) -> Situation:
    """The same, with the model fitted to it."""
    return situation_of(summary(steps, **arguments))


def write_fit(
    log_dir: Path,
    *,
    step_ms: float,
    intervals: int = 10,
    steps: int = 10,
    context: Mapping[str, Any] | None = None,
) -> None:
    """What a `fit` leaves: intervals of equal steps, half input wait and half compute."""
    writer = RunWriter(str(log_dir))
    for place in range(1, intervals + 1):
        values = {
            "perf/step_time_ms": step_ms,
            "perf/input_wait_ms": step_ms / 2,
            "perf/compute_ms": step_ms / 2,
            "perf/callbacks_ms": 0.0,
            "perf/other_host_ms": 0.0,
            "perf/compile_ms": 0.0,
            "perf/interval_steps": float(steps),
        }
        writer.scalars(place * steps, values, wall_time=float(place))
    if context is not None:
        writer.context(intervals * steps, context)
    writer.close()
