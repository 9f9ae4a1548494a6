"""How much of the time the GPUs that train ran kernels."""

from __future__ import annotations

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


def training_gpus(summary: Summary) -> list[int]:
    """Their numbers; the first one where the framework does not tell which it uses."""
    names = [device.name.removeprefix("GPU:") for device in summary.facts.gpu.device_memory]
    return [int(name) for name in names if name.isdecimal()] or [0]


def busiest(summary: Summary, sensor: str) -> float | None:
    """The highest mean of a sensor on these GPUs; None where none has it, or hardly looked."""
    if not watched(summary):
        return None
    told = summary.of_gpus(sensor)
    return max((told[gpu] for gpu in training_gpus(summary) if gpu in told), default=None)


def busy_share(summary: Summary) -> float | None:
    """Share of the measured steps' time in which a kernel ran, on the busiest of these GPUs.

    None where nothing tells, or others have computed there too.

    What it cannot see: how much of the GPU a kernel uses, and what one step does otherwise than
    the next.
    """
    if busiest(summary, "other_processes"):
        return None
    for sensor in _ANY_KERNEL:
        if (busy := busiest(summary, sensor)) is not None:
            return min(1.0, busy / 100)
    return None
