"""How much of the time the GPUs that train ran kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from keras_perf.analyse.summary import Summary

WATCHED_S = 1.0
"""Of measured steps. Sensors that looked for a shorter time, five times a second, saw moments and
much of the warm-up: of an H200 that was busy for 0.96 of 0.34 s they told that its SMs were active
for 0.25 of it."""

_ANY_KERNEL = "graphics_active_pct", "utilization_pct"
"""Of Hopper and newer without a gap, and of others the driver's samples."""


def watched(summary: Summary) -> bool:
    """Sensors looked long enough to tell what the GPUs do."""
    return summary.steps * summary.step_ms >= 1e3 * WATCHED_S


def usual_of_gpus(summary: Summary, sensor: str) -> dict[int, float]:
    """By the number of each GPU, what it tells in a usual interval; empty where nothing tells."""
    known = summary.of_gpus(sensor) if watched(summary) else {}
    usual = {gpu: summary.usual.get(f"gpu/{gpu}/{sensor}", math.nan) for gpu in known}
    return {gpu: value for gpu, value in usual.items() if math.isfinite(value)}


def busiest(summary: Summary, sensor: str) -> float | None:
    """The highest of the GPUs that train, in a usual interval; None where nothing tells.

    Without a framework's word on which these are, it is the first one.
    """
    return _highest(summary, summary.usual, sensor) if watched(summary) else None


def busy_share(summary: Summary) -> float | None:
    """Share of the measured steps' time in which a kernel ran, on the busiest of these GPUs.

    None where nothing tells, or others have computed there too.

    What it cannot see: how much of the GPU a kernel uses, and, in a container whose processes NVML
    knows by other numbers, that a kernel is another process's.
    """
    if _others(summary):
        return None
    shares = (busiest(summary, sensor) for sensor in _ANY_KERNEL)
    return next((min(1.0, share / 100) for share in shares if share is not None), None)


def own_share(summary: Summary) -> float | None:
    """The same where it is sure that all kernels are this process's."""
    return None if _others(summary) is None else busy_share(summary)


def _others(summary: Summary) -> float | None:
    """Other processes there, on average of the whole training: they are looked for now and then."""
    return _highest(summary, summary.sensors, "other_processes")


def used_gpus(summary: Summary) -> tuple[int, ...]:
    """Those that hold the model, by the sensors' numbers too; none where that is not known.

    Where CUDA could not be asked which GPUs are this process's, all of the machine are sampled.
    """
    visible = summary.facts.gpu_use.gpus_visible
    sampled = len(summary.of_gpus("utilization_pct"))
    return () if visible is not None and sampled > visible else summary.facts.used_gpus


def _highest(summary: Summary, means: Mapping[str, float], sensor: str) -> float | None:
    names = [device.name.removeprefix("GPU:") for device in summary.facts.gpu.device_memory]
    gpus = used_gpus(summary) or [name for name in names if name.isdecimal()] or ["0"]
    found = [means.get(f"gpu/{gpu}/{sensor}", math.nan) for gpu in gpus]
    known = [mean for mean in found if math.isfinite(mean)]
    return max(known) if known and summary.facts.on_gpus else None
