"""The memory of the devices: what fills it, and how little is left."""

from __future__ import annotations

import math
from collections.abc import Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.memory.host_memory import how_it_grows, time_until_full
from keras_perf.records.run.devices.device_memory import DeviceMemory
from keras_perf.records.run.library import library_of
from keras_perf.records.run.run_facts import RunFacts

NEARLY_FULL = 0.95
"""Share of what the allocator may take: it leaves gaps, and rarely gives out all."""


def device_memory_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two for each device."""
    library = library_of(run.facts).name
    less = _needs_less(run.facts)
    for device in run.facts.gpu.device_memory:
        growth = run.summary.growth.get(f"{device.tag}/allocated_mib")
        if growth is not None:
            full = ""
            if device.limit_mib is not None:
                room = max(0.0, device.limit_mib - device.peak_mib)
                if time := time_until_full(room, growth):
                    full = f" What is left, {room:,.0f} MiB, would last for {time}."
            yield (
                f"What {library} has allocated on {device.name} between two steps "
                f"{how_it_grows(growth)}{full} Usual causes: losses or predictions that are kept "
                "as tensors, where float(loss) or .numpy() would do; models or optimizers that "
                "are made again and kept."
            )
        most_mib = device.limit_mib or math.inf
        if device.peak_mib > NEARLY_FULL * most_mib and run.facts.gpu.has_own_peak(device):
            yield (
                f"The memory of {device.name} was nearly full: {device.peak_mib:,.0f} of the "
                f"{most_mib:,.0f} MiB that {library} may allocate. A larger "
                f"batch is unlikely to fit{less}."
            )


def _needs_less(facts: RunFacts) -> str:
    """What does, where it is not there already."""
    accumulating = "the optimizer's gradient_accumulation_steps in place of a larger batch"
    accumulates = facts.settings.replicas == 1 or library_of(facts).replicas_run_as_one
    if not (facts.settings.dtype_policy or "").startswith("mixed"):
        also = f", and so does {accumulating}" if accumulates else ""
        return f"; mixed precision needs less{also}"
    return f"; {accumulating} needs less" if accumulates else ""


def with_twice_the_batch(device: DeviceMemory) -> float:
    """MiB that a batch twice as large takes at most at once.

    All that a step needs beyond what is kept between two steps is taken to grow with the batch,
    gradients too, which do not.
    """
    return 2 * device.peak_mib - device.current_mib
