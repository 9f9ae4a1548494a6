"""The table of how well a training uses what it runs on."""

from __future__ import annotations

from keras_perf.analyse.hardware.efficiency import Efficiency
from keras_perf.records.figures import figure
from keras_perf.records.run.step_work import NotCounted

EFFICIENCY = "Use of the hardware"
HEADER = ("quantity", "figure")

WHY_NOT_COUNTED = {
    NotCounted.EAGER: "the steps run eagerly: there is no graph",
    NotCounted.BATCH_SIZE: "the batch size is unknown",
    NotCounted.SHAPE: "shapes are known only while the step runs",
    NotCounted.LOOP: "a loop's number of rounds is known only while it runs",
    NotCounted.BRANCH: "the branches of a condition multiply differently",
    NotCounted.TRACES: "the steps were traced several times",
    NotCounted.CALLS: "how often a step calls the function is not known",
    NotCounted.NO_FUNCTION: "LoopMonitor(function=...) tells which function is a step",
}

_PREFIXES = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))


def efficiency_rows(found: Efficiency) -> list[list[str]]:
    """A row for each figure that is known; none if none is."""
    rows = []
    if found.not_counted is not None:
        rows.append(["multiplications", f"not counted: {WHY_NOT_COUNTED[found.not_counted]}"])
    if found.flops_per_step is not None and found.flops_per_sec is not None:
        rows.append(["multiplications per step", _amount(found.flops_per_step, "FLOP")])
        rows.append(["multiplications per second", _amount(found.flops_per_sec, "FLOP/s")])
    if found.flops_per_step is not None and found.passed_over:
        rows.append(["not counted in these", ", ".join(found.passed_over)])
    if found.model_flops_utilization is not None:
        of = f"model FLOPs utilization (of the peak of {found.gpu})"
        rows.append([of, f"{found.model_flops_utilization:.1%}"])
    if found.matmul_utilization is not None:
        of = "model FLOPs utilization (of the measured matrix product)"
        rows.append([of, f"{found.matmul_utilization:.1%}"])
    return rows + _roofline(found) + _per_epoch(found)


def _roofline(found: Efficiency) -> list[list[str]]:
    rows = []
    if found.flops_per_byte is not None:
        of = "measured traffic of device memory" if found.bytes_measured else "operands and results"
        ridge = found.ridge_flops_per_byte
        needed = "" if ridge is None else f" (memory is the limit below {ridge:.0f})"
        rows.append([f"FLOP per byte of {of}", f"{figure(found.flops_per_byte)}{needed}"])
    if found.memory_bandwidth_share is not None:
        rows.append(["device memory's bandwidth in use", f"{found.memory_bandwidth_share:.1%}"])
    return rows


def _per_epoch(found: Efficiency) -> list[list[str]]:
    rows = []
    if found.joules_per_step is not None:
        rows.append(["GPU energy per step", _amount(found.joules_per_step, "J")])
    if found.joules_per_epoch is not None:
        rows.append(["GPU energy per epoch", _amount(found.joules_per_epoch, "J")])
    if found.energy_price_per_epoch is not None:
        rows.append(["GPU energy per epoch, price", figure(found.energy_price_per_epoch)])
    if found.time_price_per_epoch is not None:
        rows.append(["time of an epoch, price", figure(found.time_price_per_epoch)])
    return rows


def _amount(value: float, unit: str) -> str:
    for prefix, factor in _PREFIXES:
        if value >= factor:
            return f"{figure(value / factor)} {prefix}{unit}"
    return f"{figure(value)} {unit}"
