"""What is logged of GPUs: the part of the table of metrics that NVML fills."""

from __future__ import annotations

from keras_perf.records.metrics.metric import Metric

_HOPPER = "Hopper and newer."
_POLLED = "Polled: what lies between two samples is not seen."


def _gpu(name: str, unit: str, meaning: str, blind_spot: str = "") -> Metric:
    return Metric(f"gpu/<i>/{name}", unit, meaning, blind_spot)


SAMPLED = (
    _gpu(
        "utilization_pct",
        "%",
        "Share of time in which at least one kernel ran.",
        "Does not show how much of the GPU the kernel used.",
    ),
    _gpu(
        "memory_used_mib",
        "MiB",
        "Device memory in use.",
        "TensorFlow reserves memory ahead, so the model may need less. Every process counts, and "
        "with a driver before 510 what the driver keeps for itself.",
    ),
    _gpu(
        "process_memory_used_mib",
        "MiB",
        "Device memory in use by this process.",
        "Absent in a container where NVML knows the process by another number.",
    ),
    _gpu(
        "other_processes",
        "processes",
        "Other processes that have the GPU open to compute.",
        "As process_memory_used_mib; whether they compute is not seen.",
    ),
    _gpu(
        "other_memory_used_mib",
        "MiB",
        "Device memory in use by other processes that have it open to compute.",
        "As process_memory_used_mib.",
    ),
    _gpu("power_w", "W", "Board power.", "The driver averages it over about a second."),
    _gpu(
        "mean_power_w",
        "W",
        "Board power from the energy counter, nothing missed.",
        "Volta and newer.",
    ),
    _gpu("temperature_c", "°C", "GPU core temperature.", "Memory may be hotter."),
    _gpu("sm_clock_mhz", "MHz", "Clock of the streaming multiprocessors.", _POLLED),
    _gpu(
        "throttled_power_cap_pct",
        "%",
        "Share of samples at which the clocks were lowered to keep the power limit.",
        _POLLED,
    ),
    _gpu(
        "throttled_thermal_pct",
        "%",
        "Share of samples at which the clocks were lowered because of heat.",
        _POLLED,
    ),
    _gpu(
        "throttled_power_brake_pct",
        "%",
        "Share of samples at which the power supply asked for lower clocks.",
        _POLLED,
    ),
    _gpu(
        "throttled_hardware_pct",
        "%",
        "Share of samples at which the hardware had lowered the clocks, by half or more.",
        f"Contains heat and power brake. {_POLLED}",
    ),
    _gpu("pcie_lanes", "lanes", "Lanes of the PCIe link."),
    _gpu("pcie_max_lanes", "lanes", "Lanes that GPU and slot can use."),
    _gpu(
        "pcie_generation",
        "generation",
        "Generation of the PCIe link.",
        "An idle GPU lowers it to save power.",
    ),
    _gpu("pcie_max_generation", "generation", "Generation that GPU and slot can use."),
    _gpu(
        "pcie_sent_mib_per_sec",
        "MiB/s",
        "From the GPU over PCIe.",
        "Before Hopper 20 ms every two seconds.",
    ),
    _gpu(
        "pcie_received_mib_per_sec",
        "MiB/s",
        "To the GPU over PCIe.",
        "Before Hopper 20 ms every two seconds.",
    ),
    _gpu(
        "graphics_active_pct",
        "%",
        "Share of time in which the GPU computed anything (GPM).",
        _HOPPER,
    ),
    _gpu("sm_active_pct", "%", "Share of time an average SM had a warp resident (GPM).", _HOPPER),
    _gpu("occupancy_pct", "%", "Resident warps divided by the most that fit (GPM).", _HOPPER),
    _gpu("tensor_active_pct", "%", "Share of time tensor cores were busy (GPM).", _HOPPER),
    _gpu("dram_bandwidth_pct", "%", "Share of peak device-memory bandwidth (GPM).", _HOPPER),
    _gpu("nvlink_sent_mib_per_sec", "MiB/s", "From the GPU over NVLink (GPM).", _HOPPER),
    _gpu("nvlink_received_mib_per_sec", "MiB/s", "To the GPU over NVLink (GPM).", _HOPPER),
)
"""Means over an interval's training time."""

BUSY = "utilization_pct"
"""The one whose percentiles tell of an input that comes in bursts."""

EXTREMES = {
    "min": (BUSY, "sm_clock_mhz", "sm_active_pct"),
    "max": (BUSY, "memory_used_mib", "power_w", "temperature_c", "sm_active_pct"),
}
"""Those whose least or greatest value in an interval is logged, too."""

IN_VALIDATION = (BUSY, "memory_used_mib", "mean_power_w", "sm_active_pct")
"""Those that are logged for validation, too."""

_SAMPLED = {metric.tag.rpartition("/")[2]: metric for metric in SAMPLED}

_DERIVED = (
    *(
        _gpu(
            f"{least}_{name}",
            _SAMPLED[name].unit,
            f"{word} {name} of a sample.",
            "Without samples that lie mostly outside training.",
        )
        for least, word in (("min", "Lowest"), ("max", "Highest"))
        for name in EXTREMES[least]
    ),
    *(
        _gpu(
            f"{name}_{BUSY}",
            "%",
            f"The value that utilization was below for {share} of the training so far.",
            f"Without warm-up. As {BUSY}.",
        )
        for name, share in (("p5", "5%"), ("p95", "95%"))
    ),
    *(
        _gpu(
            f"validation_{name}",
            _SAMPLED[name].unit,
            f"{name} during validation.",
            "Shared out by time where a sample covers more.",
        )
        for name in IN_VALIDATION
    ),
    _gpu(
        "energy_j",
        "J",
        "Energy of the interval's training time, from the energy counter.",
        "Idle power counts. Volta and newer.",
    ),
    _gpu("energy_per_step_j", "J", "The same for each step.", "As energy_j."),
    _gpu(
        "energy_per_example_j",
        "J",
        "The same for each training example.",
        "As energy_j; needs StepGapDetector's count of examples.",
    ),
)

ALLOCATED_METRICS = (
    _gpu(
        "allocated_mib",
        "MiB",
        "What TensorFlow's allocator has given out on the GPU, between two steps.",
        "By then a step has given back its temporary memory.",
    ),
    _gpu(
        "peak_allocated_mib",
        "MiB",
        "The most that it had given out at once, since the process began.",
        "Gaps between what is given out are not counted.",
    ),
)

GPU_METRICS = SAMPLED + _DERIVED
