"""What a step did on the GPUs, from the planes of the devices.

The names are those of XLA's CUDA tracer, which TensorFlow and JAX share; tested on traces of an
H200, and on constructed ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from keras_perf.trace.cover import Cover, Ticks, within_each
from keras_perf.trace.file.xplane import LineEvents, Plane
from keras_perf.trace.host import Host
from keras_perf.trace.kernel_kinds import (
    COLLECTIVE,
    NO_KERNEL,
    TENSOR_CORE,
    TO_DEVICE,
    TO_HOST,
    changes_layout,
    operation_of,
    tensor_cores_could,
    unfused_normalization,
)
from keras_perf.trace.steps import Steps

_STREAM = "Stream #"
"""Other lines of a device are derived from its streams."""


@dataclass(frozen=True)
class _Device:
    begin: Ticks
    end: Ticks
    kernel: NDArray[np.bool_]
    to_device: NDArray[np.bool_]
    to_host: NDArray[np.bool_]
    collective: NDArray[np.bool_]
    eligible: NDArray[np.bool_]
    tensor_core: NDArray[np.bool_]
    layout: NDArray[np.bool_]
    normalization: NDArray[np.bool_]
    delay: NDArray[np.float64]

    def cover(self, chosen: NDArray[np.bool_]) -> Cover:
        return Cover(self.begin[chosen], self.end[chosen])


def device_columns(planes: tuple[Plane, ...], steps: Steps, host: Host) -> pd.DataFrame:
    """A row a step, the mean of all GPUs of the host.

    Work counts in the step in whose time it ran, from its begin to the next one's: devices lag
    behind the host that launches.

    Arguments:
        planes: of the GPUs.
        steps: the rows.
        host: what it did meanwhile.

    Returns:
        `kernel_ms` (at least one kernel ran), `kernels`, `kernel_mean_ms`,
        `kernel_launch_delay_ms` (mean time from the launching call to the kernel's begin, queue
        and all), `copy_to_device_ms`, `copy_to_host_ms`, `collective_ms`,
        `device_idle_in_step_ms`, `device_idle_between_steps_ms`, of which idle time
        `waits_for_cpu_operation_ms` (an operation of the step ran on the CPU) and
        `waits_for_launch_ms` (the rest of it in which the host executed the step, less waits for
        input), of the kernels' time `layout_change_ms` and `unfused_normalization_ms`, and
        shares of it, `tensor_core_eligible_pct` and `tensor_core_pct`. Where collectives ran, also
        what `_exchange_columns` tells.
    """
    found = [_read(plane, host.launches) for plane in planes]
    devices = [_columns(device, steps, host) for device in found]
    # What a device has no figure of (a mean of no kernels) does not count.
    means = pd.concat(devices).groupby(level=0).mean()
    if not any(device.collective.any() for device in found):
        return means
    numbers = [_number(plane, place) for place, plane in enumerate(planes)]
    return means.join(_exchange_columns(dict(zip(numbers, found, strict=True)), steps))


def _number(plane: Plane, place: int) -> int:
    told = plane.name.rpartition(":")[2]
    return int(told) if told.isdecimal() else place


def _exchange_columns(devices: Mapping[int, _Device], steps: Steps) -> pd.DataFrame:
    """What exchanging costs the GPUs, and which of them the others wait for.

    Returns:
        `exchange_ms`, in which a device ran collectives and no other kernel, mean of the devices;
        of several `exchange_wait_ms`, by how much that is more than on the device with the least,
        which comes last and waits for none; and `gpu_<i>_computing_ms`, in which device i ran
        other kernels.
    """
    begin, end = steps.begin, steps.next_begin
    computing = {
        number: device.cover(device.kernel & ~device.collective).within(begin, end) / 1e9
        for number, device in devices.items()
    }
    exchange = pd.DataFrame(
        {
            number: device.cover(device.kernel).within(begin, end) / 1e9 - computing[number]
            for number, device in devices.items()
        }
    )
    found = pd.DataFrame({"exchange_ms": exchange.mean(axis=1)})
    if len(devices) > 1:
        found["exchange_wait_ms"] = found["exchange_ms"] - exchange.min(axis=1)
        for number, column in sorted(computing.items()):
            found[f"gpu_{number}_computing_ms"] = column
    return found


def _read(plane: Plane, launches: Mapping[int, int]) -> _Device:
    streams = [line.events for line in plane.lines() if line.name.startswith(_STREAM)]
    nothing = np.array([], dtype=np.int64)
    joined = LineEvents(
        np.concatenate([nothing, *(events.name_id for events in streams)]),
        np.concatenate([nothing, *(events.begin for events in streams)]),
        np.concatenate([nothing, *(events.duration for events in streams)]),
        tuple(encoded for events in streams for encoded in events.encoded),
    )

    def named(pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        return np.isin(joined.name_id, plane.ids(pattern.search))

    kernel = ~named(NO_KERNEL)
    tensor_core = kernel & named(TENSOR_CORE)
    names = [plane.event_names.get(int(i), "") for i in joined.name_id]
    launched, operations = [], []
    # One after the other: what is told of all events at once may be gigabytes.
    for name, encoded in zip(names, joined.encoded, strict=True):
        stats = plane.stats(encoded)
        launched.append(launches.get(int(stats.get("correlation_id", -1)), np.nan))
        operations.append(operation_of(name, stats))
    eligible = [tensor_cores_could(operation) for operation in operations]
    layout = [changes_layout(*pair) for pair in zip(names, operations, strict=True)]
    return _Device(
        joined.begin,
        joined.end,
        kernel,
        named(TO_DEVICE),
        named(TO_HOST),
        named(COLLECTIVE),
        tensor_core | (kernel & np.array(eligible, dtype=bool)),
        tensor_core,
        kernel & np.array(layout, dtype=bool),
        kernel & np.array(unfused_normalization(operations), dtype=bool),
        joined.begin - np.array(launched, dtype=float),
    )


def _columns(device: _Device, steps: Steps, host: Host) -> pd.DataFrame:
    begin, end, following = steps.begin, steps.end, steps.next_begin
    step = within_each(begin, following, device.begin)

    def covered(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        return device.cover(chosen).within(begin, following) / 1e9

    def sums(chosen: NDArray[np.bool_], values: NDArray[np.float64]) -> NDArray[np.float64]:
        inside = chosen & (step >= 0)
        weights = values[inside].astype(float)
        return np.bincount(step[inside], weights, len(begin)).astype(float)

    one, length = np.ones(len(step)), (device.end - device.begin) / 1e9
    launched = device.kernel & ~np.isnan(device.delay)
    kernels, time = sums(device.kernel, one), sums(device.kernel, length)
    busy = device.cover(device.end >= device.begin)
    on_cpu = host.cpu_operations(steps.line).cover
    held = busy | on_cpu | host.waits.cover

    def idle(meanwhile: Cover, otherwise: Cover) -> NDArray[np.float64]:
        both = (meanwhile | otherwise).within(begin, following)
        return (both - otherwise.within(begin, following)) / 1e9

    # A step without kernels has no mean of them.
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "kernel_ms": covered(device.kernel),
                "kernels": kernels,
                "kernel_mean_ms": time / kernels,
                "kernel_launch_delay_ms": sums(launched, device.delay / 1e9) / sums(launched, one),
                "copy_to_device_ms": covered(device.to_device),
                "copy_to_host_ms": covered(device.to_host),
                "collective_ms": covered(device.collective),
                "device_idle_in_step_ms": (end - begin - busy.within(begin, end)) / 1e9,
                "device_idle_between_steps_ms": (following - end - busy.within(end, following))
                / 1e9,
                "waits_for_cpu_operation_ms": idle(on_cpu, busy),
                "waits_for_launch_ms": idle(steps.line.executions.cover, held),
                "layout_change_ms": sums(device.layout, length),
                "unfused_normalization_ms": sums(device.normalization, length),
                "tensor_core_eligible_pct": 100 * sums(device.eligible, length) / time,
                "tensor_core_pct": 100 * sums(device.tensor_core, length) / time,
            }
        )
