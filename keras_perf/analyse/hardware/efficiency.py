"""How well a training uses what it runs on: FLOPs, memory traffic, energy, money."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keras_perf.analyse.hardware.gpu_busy import used_gpus, usual_of_gpus
from keras_perf.analyse.hardware.gpu_peaks import Peak, peak_of
from keras_perf.analyse.summary import Summary
from keras_perf.records.rates import Rates
from keras_perf.records.run.step_work import NotCounted

JOULES_PER_KWH = 3.6e6
MS_PER_HOUR = 3.6e6


@dataclass(frozen=True)
class Efficiency:
    """What is not known is None.

    Attributes:
        flops_per_step: floating-point operations of the multiplications of one step, of all
            replicas, forward and backward, as the graph has them.
        not_counted: why these are missing.
        passed_over: operations that may multiply and count 0 in them.
        flops_per_sec: `flops_per_step` by the mean time of a step.
        gpu: name of the GPUs whose peak is known.
        model_flops_utilization: seconds that the GPUs' dense peak would need for the
            multiplications, each in its number format, as a share (0 to 1) of the mean step.
        matmul_utilization: `flops_per_sec` of a replica as a share of a measured matrix product.
        memory_bandwidth_share: measured traffic of device memory as a share of its peak.
        flops_per_byte: arithmetic intensity.
        bytes_measured: its bytes are the measured traffic of device memory; else operands and
            results of all products, as if each went through memory at each use.
        ridge_flops_per_byte: below this intensity the peak of memory is reached first.
        joules_per_step: of all GPUs sampled beside this worker, from their energy counters, in a
            usual interval, as the traffic: one in which XLA compiled for a trial tells of that.
        joules_per_epoch: the same for the steps of an epoch.
        energy_price_per_epoch: of `joules_per_epoch`, at `Rates.price_per_kwh`.
        time_price_per_epoch: of an epoch's time, with what lies between epochs, at
            `Rates.price_per_hour`.

    Source: PaLM (Chowdhery et al. 2022, appendix B, arXiv:2204.02311): MFU is observed throughput
    by the throughput at peak FLOP/s; the roofline: Williams et al. 2009, CACM 52(4).

    What it cannot see: whether a multiplication was of use (what is computed again to save memory
    counts, as in hardware FLOPs utilization); what is not a multiplication; clocks below boost;
    energy of the host, and of other programs apart.
    """

    flops_per_step: float | None = None
    not_counted: NotCounted | None = None
    passed_over: tuple[str, ...] = ()
    flops_per_sec: float | None = None
    gpu: str | None = None
    model_flops_utilization: float | None = None
    matmul_utilization: float | None = None
    memory_bandwidth_share: float | None = None
    flops_per_byte: float | None = None
    bytes_measured: bool = False
    ridge_flops_per_byte: float | None = None
    joules_per_step: float | None = None
    joules_per_epoch: float | None = None
    energy_price_per_epoch: float | None = None
    time_price_per_epoch: float | None = None


def efficiency_of(summary: Summary, rates: Rates) -> Efficiency:
    """Of a run with these figures."""
    if not summary.steps or not summary.step_ms > 0:
        return Efficiency()
    return Efficiency(**(_of_work(summary, rates) | _per_epoch(summary, rates)))


def _of_work(summary: Summary, rates: Rates) -> dict[str, Any]:
    work, replicas = summary.facts.step_work, summary.facts.settings.replicas
    if work is None:
        return {}
    why, eagerly = work.not_counted, summary.facts.settings.run_eagerly
    if why is NotCounted.NO_FUNCTION and eagerly:
        why = NotCounted.EAGER
    told = {"not_counted": why, "passed_over": work.passed_over}
    flops = sum(work.flops.values())
    if work.not_counted is not None or not flops:
        return told
    per_sec = flops / summary.step_ms * 1e3
    found = {
        **told,
        "flops_per_step": flops * replicas,
        "flops_per_sec": per_sec * replicas,
        "flops_per_byte": flops / work.product_bytes if work.product_bytes else None,
    }
    if rates.matmul_flops_per_sec is not None:
        found["matmul_utilization"] = per_sec / rates.matmul_flops_per_sec
    return found | _against_peak(summary, work.flops)


def _against_peak(summary: Summary, flops: Mapping[str, float]) -> dict[str, Any]:
    gpu = _gpu(summary)
    peak = peak_of(gpu) if gpu is not None else None
    seconds = None if peak is None else _seconds_at(peak, flops, summary)
    if peak is None or not seconds:
        return {}
    whole, step_s = sum(flops.values()), summary.step_ms / 1e3
    found: dict[str, Any] = {
        "gpu": gpu,
        "model_flops_utilization": seconds / step_s,
        "ridge_flops_per_byte": whole / seconds / peak.bytes,
    }
    told, used = usual_of_gpus(summary, "dram_bandwidth_pct"), used_gpus(summary)
    traffic = [share for number, share in told.items() if not used or number in used]
    if len(traffic) == _replicas_here(summary) and sum(traffic) > 0:
        share = sum(traffic) / len(traffic) / 100
        found["memory_bandwidth_share"] = share
        found["flops_per_byte"] = whole / (share * peak.bytes * step_s)
        found["bytes_measured"] = True
    return found


def _gpu(summary: Summary) -> str | None:
    """The name of all GPUs that train, if each has one replica and they are the same."""
    visible = summary.facts.machine.training_gpus if summary.facts.on_gpus else ()
    used = [number for number in summary.facts.used_gpus if number < len(visible)]
    gpus = [visible[number].name for number in used or range(len(visible))]
    gpus = gpus[: _replicas_here(summary)]
    alike = len(set(gpus)) == 1 and len(gpus) == _replicas_here(summary)
    return gpus[0] if alike else None


def _replicas_here(summary: Summary) -> int:
    settings = summary.facts.settings
    return max(1, settings.replicas // max(1, settings.workers))


def _seconds_at(peak: Peak, flops: Mapping[str, float], summary: Summary) -> float | None:
    """In which a GPU at its peak does them all; None if it has none for one of the formats."""
    faster = summary.facts.machine.tensor_float_32 is not False
    seconds = 0.0
    for kind, each in flops.items():
        per_sec = peak.flops_in(kind, tensor_float_32=faster)
        if per_sec is None:
            return None
        seconds += each / per_sec
    return seconds


def _per_epoch(summary: Summary, rates: Rates) -> dict[str, Any]:
    # Of several workers each samples its own machine's, and the steps are of all.
    alone = summary.facts.settings.workers <= 1
    each = usual_of_gpus(summary, "energy_per_step_j") if alone else {}
    joules = sum(each.values()) or None
    steps = summary.facts.length.epoch_steps
    found: dict[str, Any] = {"joules_per_step": joules}
    if not steps:
        return found
    if joules is not None:
        found["joules_per_epoch"] = joules * steps
        if rates.price_per_kwh is not None:
            found["energy_price_per_epoch"] = joules * steps / JOULES_PER_KWH * rates.price_per_kwh
    if rates.price_per_hour is not None:
        hours = summary.whole_ms * steps / MS_PER_HOUR
        found["time_price_per_epoch"] = hours * rates.price_per_hour
    return found
