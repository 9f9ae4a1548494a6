"""Memory that could not be had: what was asked for, when it rose, which batch may fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from keras_perf.read.fits import Fit
from keras_perf.records.figures import figure, in_mib
from keras_perf.records.metrics.host_metrics import PROCESS_MEMORY
from keras_perf.records.run.devices.device_memory import DeviceMemory
from keras_perf.records.run.ending import Ending
from keras_perf.records.run.library import JAX, TENSORFLOW, library_of
from keras_perf.records.run.run_facts import RunFacts

HAD_FITTED = 20
"""Steps of the same batch size after which it is not the batch alone that is too large."""

LEAST_RISE = 0.1
"""Share of the highest level; a smaller rise between two points is none to speak of."""

_LEFT_ROOM = {
    TENSORFLOW: "TF_FORCE_GPU_ALLOW_GROWTH=true",
    JAX: "XLA_PYTHON_CLIENT_PREALLOCATE=false",
}
"""By which processes of a sweep find memory on a GPU."""


def out_of_memory(ending: Ending, fit: Fit) -> Iterator[str]:
    """What is known of it, in one note of some sentences."""
    facts = fit.facts
    ending = _located(ending, facts)
    device = next((d for d in facts.gpu.device_memory if d.name == ending.device), None)
    steps = facts.length.steps
    yield " ".join(
        filter(
            None,
            (
                f"Training ran out of memory after {steps:,} steps ({ending.error}): "
                f"{_asked_for(ending)}.",
                _held(ending, device, facts),
                _when_it_rose(fit.scalars, device),
                _which_batch(ending, device, facts),
            ),
        )
    )


def _located(ending: Ending, facts: RunFacts) -> Ending:
    """With the device that XLA's message leaves out: the GPU that trains, or "a GPU" of several."""
    if ending.device or _is_pythons(ending):
        return ending
    names = [*facts.gpu_use.variables_on] or [each.name for each in facts.gpu.device_memory]
    gpus = [name for name in names if name.startswith("GPU")]
    if not gpus:
        return ending
    several = len(gpus) > 1 or facts.settings.replicas > max(1, facts.settings.workers)
    return replace(ending, device="a GPU" if several else gpus[0])


def _is_pythons(ending: Ending) -> bool:
    """Python or NumPy could not have it, beside the step; NumPy's own begins with a _."""
    return ending.error.endswith("MemoryError")


def _asked_for(ending: Ending) -> str:
    where = f" on {ending.device}" if ending.device else ""
    shape = f"an array of shape {list(ending.shape)}" if ending.shape else "an allocation"
    if ending.requested_mib is not None:
        return f"{shape}, {in_mib(ending.requested_mib)}, could not be had{where}"
    said = ending.message.rstrip(".")
    return f"{said}{where}" if said else f"{shape} could not be had{where}"


def _held(ending: Ending, device: DeviceMemory | None, facts: RunFacts) -> str:
    if device is not None:
        limit = f" of at most {device.limit_mib:,.0f}" if device.limit_mib else ""
        return (
            f"{library_of(facts).name} had allocated up to {device.peak_mib:,.0f} MiB{limit} "
            f"there, {device.current_mib:,.0f} of them beside what a step needs."
        )
    machine = facts.machine
    whose, total = "machine", machine.memory_total_mib
    if machine.container_memory_mib is not None:
        whose, total = "container", machine.container_memory_mib
    available = machine.memory_available_mib
    if "GPU" not in ending.device and available is not None and total:
        return f"Of the {whose}'s {total:,.0f} MiB {available:,.0f} were free afterwards."
    return ""


def _when_it_rose(scalars: pd.DataFrame, device: DeviceMemory | None) -> str:
    tag, what = PROCESS_MEMORY, "The memory of the process"
    if device is not None:
        tag = f"{device.tag}/peak_allocated_mib"
        what = "The peak"
    points = scalars[scalars["tag"] == tag].sort_values("step")
    rises = points["value"].diff()
    if len(points) < 3 or not rises.max() > LEAST_RISE * points["value"].max():
        return ""
    place = int(rises.to_numpy()[1:].argmax())
    before, after = points.iloc[place], points.iloc[place + 1]
    return (
        f"{what} rose most between step {before['step']:,} and {after['step']:,}, from "
        f"{before['value']:,.0f} to {after['value']:,.0f} MiB."
    )


def _which_batch(ending: Ending, device: DeviceMemory | None, facts: RunFacts) -> str:
    batch = ending.batch
    if facts.length.steps >= HAD_FITTED:
        return (
            "Batches of this size fitted before: look for memory that grows, larger examples "
            "(longer sequences), or a larger batch in validation."
        )
    if batch is None or batch < 2 or _is_pythons(ending):
        return ""
    bound = largest_batch(ending, device, facts)
    most = "" if bound is None else f", and no more than {bound:,} can fit, for this array alone"
    replicas, half = facts.settings.replicas, max(1, (bound or batch) // 2)
    if replicas > 1 and not library_of(facts).replicas_run_as_one:
        # Neither a sweep nor Keras's accumulation of gradients works with several.
        each = figure(batch / replicas)
        return f"A batch of {batch:,}, {each} on each replica, is too large{most}. Try {half:,}."
    sizes = ""
    if facts.settings.can_be_swept:
        sizes = "; kp.sweep_batch_size(model, dataset).largest measures what fits"
        if "GPU" in ending.device:
            sizes += f", with {_LEFT_ROOM[library_of(facts)]} set before the program starts"
    return (
        f"A batch of {batch:,} is too large{most}. Try {half:,}{sizes}. The optimizer's "
        "gradient_accumulation_steps gives several small batches the effect of a large one."
    )


def largest_batch(ending: Ending, device: DeviceMemory | None, facts: RunFacts) -> int | None:
    """Examples whose share of the array that could not be had fits into what is not kept.

    None where the array is not known to have a share for each example, or alone would fit. More
    than that do not fit; whether so many do depends on all else that a step needs.
    """
    shape, batch, asked_mib = ending.shape, ending.batch, ending.requested_mib
    share = (batch or 0) // facts.settings.replicas
    if not batch or not share or not shape or shape[0] % share or not asked_mib:
        return None
    if device is None:
        room = facts.machine.memory_available_mib
        room = None if "GPU" in ending.device else room
    else:
        room = device.limit_mib and device.limit_mib - device.current_mib
    if room is None or room >= asked_mib:
        return None
    return max(1, int(batch * room / asked_mib))
