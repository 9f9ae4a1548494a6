"""What to know where several devices share each batch."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.advise.notes.devices.gpu import BUSY_PCT
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.from_traces.traced_exchange import slow_gpu
from keras_perf.analyse.hardware.gpu_busy import usual_of_gpus
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import figure, in_ms

USUAL_BATCH = 32
"""Keras's own default: a replica whose share is smaller may hardly compute."""


def replica_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two each: the share of a replica, the exchange, a slow replica."""
    summary, replicas = run.summary, run.facts.settings.replicas
    batch = summary.examples_per_step
    small = batch is not None and batch / replicas < USUAL_BATCH
    divided = replicas > 1 and not run.facts.given_to_each_replica
    if divided and batch is not None and small and not _all_busy(summary):
        yield (
            f"{replicas} replicas share each batch of {figure(batch)} examples, "
            f"{figure(batch / replicas)} each: a batch is divided, not given to each of them. "
            "For as much work as one device "
            f"had, make it {replicas} times as large, and look for the learning rate again."
        )
    yield from _exchange_notes(summary)
    if (slow := slow_gpu(summary.trace)) is not None:
        yield (
            f"GPU {slow.number} (as the trace numbers them) computes {in_ms(slow.own_ms)} of each "
            f"step, the others {in_ms(slow.others_ms)}: they wait for it in every exchange. Look "
            "at its clock, its temperature, other programs on it, and its share of the batch."
        )


def _all_busy(summary: Summary) -> bool:
    """Every GPU that was sampled has enough to do, however few the examples."""
    busy = usual_of_gpus(summary, "utilization_pct").values()
    return bool(busy) and min(busy) >= BUSY_PCT


def _exchange_notes(summary: Summary) -> Iterator[str]:
    on_gpus = summary.facts.machine.training_gpus
    if "exchange_ms" in summary.trace and summary.facts.exchange is None and summary.exchange:
        communication = summary.exchange["communication"]
        waiting = f", {in_ms(summary.exchange['peer_wait'])} of it waiting for the slowest"
        if "exchange_wait_ms" not in summary.trace:
            waiting = ", waiting for other workers included"
        yield (
            f"A trace shows that the GPUs exchange gradients for {in_ms(communication)} of each "
            f"step while they compute nothing{waiting}. What runs beside computing does not count."
        )
    elif summary.facts.settings.replicas > 1 and on_gpus and not summary.exchange:
        shows = "a trace (WindowedProfiler) shows it."
        if "kernel_ms" in summary.trace:
            shows = "the trace holds none of the NCCL collectives that would show it."
        yield (
            "The exchange of gradients among the GPUs was not measured and is inside compute; "
            f"{shows}"
        )
