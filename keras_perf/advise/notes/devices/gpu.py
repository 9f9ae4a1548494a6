"""What the sensors of the GPUs say about a run, beside where its time went."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from keras_perf.advise.notes.devices.roofline import remedies
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.memory.device_memory import with_twice_the_batch
from keras_perf.analyse.hardware.gpu_busy import used_gpus, usual_of_gpus
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_percent

BUSY_PCT = 80.0
HALF_BUSY_PCT = 50.0
COMPUTES_PCT = 95.0
"""Of the time: no launch is waited for."""
IDLE_PCT = 5.0
FEW_SMS_PCT = 30.0
NO_TENSOR_PCT = 2.0
WAITS = 0.2
"""Share of a step."""
THROTTLED_PCT = 10.0
FREE = 0.5
"""Share of the memory."""

_THROTTLES = {
    "throttled_power_cap_pct": "to keep the power limit; nvidia-smi -q -d POWER shows it",
    "throttled_thermal_pct": "against heat; look at the cooling",
    "throttled_power_brake_pct": "because the power supply asked for it",
    "throttled_hardware_pct": "by the hardware, to half or less; look at cooling and power supply",
}


@dataclass(frozen=True)
class Gpu:
    """The sensors of one GPU, within their run."""

    index: int
    run: Summary

    def get(self, name: str) -> float | None:
        """Mean of a sensor; None where it was not sampled."""
        return self.run.sensors.get(f"gpu/{self.index}/{name}")

    def activity(self, name: str) -> float | None:
        """What tells how busy it is, in a usual interval; None where it was hardly watched, too."""
        return usual_of_gpus(self.run, name).get(self.index)


def gpu_notes(run: Diagnosed) -> Iterator[str]:
    """All that the sensors give reason to say, GPU by GPU.

    What it cannot see: how much faster training would be without what it finds.
    """
    if run.facts.machine.training_gpus and not run.facts.on_gpus:
        return
    indices = {m[1] for tag in run.summary.sensors if (m := re.match(r"gpu/(\d+)/", tag))}
    gpus = [Gpu(index, run.summary) for index in sorted(map(int, indices))]
    # One that never ran anything beside others that did is not trained on.
    used = [gpu for gpu in gpus if gpu.index in used_gpus(run.summary)]
    used = used or [gpu for gpu in gpus if gpu.get("utilization_pct") != 0]
    for gpu in used or gpus:
        yield from filter(None, (look(gpu) for look in _LOOKS))


def starving(gpu: Gpu) -> str | None:
    """It idles while the step waits for input."""
    busy, run = gpu.activity("utilization_pct"), gpu.run
    if busy is None or not run.step_ms > 0:
        return None
    waits = run.parts.get("input_wait", 0.0) / run.step_ms
    if busy >= HALF_BUSY_PCT or waits < WAITS:
        return None
    return (
        f"GPU {gpu.index} starves: it is busy for {in_percent(busy / 100)} of the time, and a "
        f"step waits for input for {in_percent(waits)} of its time."
    )


def fluctuating(gpu: Gpu) -> str | None:
    """It is busy at some times and idle at others."""
    low, high = gpu.activity("p5_utilization_pct"), gpu.activity("p95_utilization_pct")
    if low is None or high is None or low > IDLE_PCT or high < BUSY_PCT:
        return None
    return (
        f"GPU {gpu.index} is fully busy at times and idle at others (utilization: 5th percentile "
        f"{in_percent(low / 100)}, 95th {in_percent(high / 100)}): work reaches it in bursts."
    )


def launch_bound(gpu: Gpu) -> str | None:
    """Some kernel always runs, on few of the SMs."""
    busy, active = gpu.activity("utilization_pct"), gpu.activity("sm_active_pct")
    if busy is None or active is None or busy < BUSY_PCT or active > FEW_SMS_PCT:
        return None
    if (gpu.activity("graphics_active_pct") or 0.0) >= COMPUTES_PCT:
        return (
            f"GPU {gpu.index} computes for all of the time, yet its SMs are active for "
            f"{in_percent(active / 100)} of it: its kernels are small. Larger batches fill it."
        )
    return (
        f"GPU {gpu.index} looks busy ({in_percent(busy / 100)} utilization), yet its SMs are "
        f"active for {in_percent(active / 100)} of the time: its kernels are short or small, and "
        f"launching them takes the time. What helps: {remedies(gpu.run.facts)}."
    )


def tensor_cores_unused(gpu: Gpu) -> str | None:
    """The model multiplies matrices, without tensor cores."""
    active, tensor = gpu.activity("sm_active_pct"), gpu.activity("tensor_active_pct")
    if active is None or tensor is None or not gpu.run.facts.settings.layer_widths:
        return None
    if active < HALF_BUSY_PCT or tensor > NO_TENSOR_PCT:
        return None
    return (
        f"The SMs of GPU {gpu.index} are active for {in_percent(active / 100)} of the time, its "
        f"tensor cores for {in_percent(tensor / 100)}, although the model multiplies matrices: "
        "look at the precision and at sizes that are no multiples of 8."
    )


def memory_headroom(gpu: Gpu) -> str | None:
    """Most of the memory was never needed."""
    known, batch = gpu.run.facts.gpu, gpu.run.examples_per_step
    total, peak = known.gpu_memory_total_mib, known.gpu_memory_peak_mib
    device = next((d for d in known.device_memory if d.name == f"GPU:{gpu.index}"), None)
    if device is not None:
        total, peak = device.limit_mib, device.peak_mib
    elif gpu.index:
        # Records of earlier versions tell of the first GPU only.
        return None
    if not total or peak is None or 1 - peak / total < FREE:
        return None
    twice = ""
    if device is not None and batch and known.has_own_peak(device):
        mib = with_twice_the_batch(device)
        twice = f"; one of {2 * batch:.0f} examples would take about {mib:.0f} MiB"
    return (
        f"Training needed {peak:.0f} MiB of the {total:.0f} MiB of GPU {gpu.index}: there is room "
        f"for larger batches{twice}."
    )


def throttled(gpu: Gpu) -> str | None:
    """The driver or the hardware lowered its clocks."""
    shares = {name: gpu.get(name) or 0.0 for name in _THROTTLES}
    worst = max(shares, key=lambda name: shares[name])
    if shares[worst] < THROTTLED_PCT:
        return None
    return (
        f"GPU {gpu.index} ran with lowered clocks for {in_percent(shares[worst] / 100)} of the "
        f"time {_THROTTLES[worst]}."
    )


def slow_link(gpu: Gpu) -> str | None:
    """Its PCIe link is narrower or older than it could be."""
    link = {
        name: gpu.get(f"pcie_{name}")
        for name in ("lanes", "max_lanes", "generation", "max_generation")
    }
    known = {name: value for name, value in link.items() if value is not None}
    if len(known) < len(link):
        return None
    narrow = known["lanes"] < known["max_lanes"] - 0.5
    # An idle GPU lowers the generation to save power.
    working = (gpu.activity("utilization_pct") or 0.0) >= HALF_BUSY_PCT
    slow = working and known["generation"] < known["max_generation"] - 0.5
    if not narrow and not slow:
        return None
    return (
        f"The PCIe link of GPU {gpu.index} has {known['lanes']:.0f} of {known['max_lanes']:.0f} "
        f"lanes at generation {known['generation']:.0f} of {known['max_generation']:.0f}: look "
        "at the slot and the BIOS."
    )


def persistence_off(gpu: Gpu) -> str | None:
    """The driver lets go of the GPU whenever nobody uses it. No step is slower for it."""
    if gpu.run.facts.gpu.gpu_persistence.get(f"gpu/{gpu.index}", True):
        return None
    return (
        f"Persistence mode of GPU {gpu.index} is off: the driver sets the GPU up again for each "
        "program that finds it unused, which takes seconds before the first step, not in the "
        "steps. nvidia-persistenced, or sudo nvidia-smi -pm 1, keeps it ready."
    )


_LOOKS: tuple[Callable[[Gpu], str | None], ...] = (
    starving,
    fluctuating,
    launch_bound,
    tensor_cores_unused,
    memory_headroom,
    throttled,
    slow_link,
    persistence_off,
)
