"""What a step did on the GPUs, from the planes of the devices.

Never seen on a real GPU's trace so far; the names are those of TensorFlow's CUDA tracer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from keras_perf.trace.cover import Cover, Ticks, within_each
from keras_perf.trace.steps import Steps
from keras_perf.trace.xplane import Events, Plane

_STREAM = "Stream #"
"""Other lines of a device are derived from its streams."""

_TO_DEVICE, _TO_HOST = re.compile("MemcpyH2D"), re.compile("MemcpyD2H")
_NO_KERNEL = re.compile("Memcpy|Memset")
_COLLECTIVE = re.compile("nccl|rccl", re.IGNORECASE)
_TENSOR_CORE = re.compile(
    r"[a-z](884|8816|8832|1684|1688|16816|16832)|[hiqw]g?mma|xmma|tensorop|nvjet", re.IGNORECASE
)
"""Shapes and names of matrix instructions in names of cuBLAS's, cuDNN's and CUTLASS's kernels."""

_ELIGIBLE = re.compile(
    r"MatMul|Conv[23]D|DepthwiseConv2d|CudnnRNN|Einsum|XlaDot|gemm|^dot|^conv(olution|\b)"
)
"""Types of TensorFlow's operations, and names of XLA's, that tensor cores can do."""


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
    delay: NDArray[np.float64]

    def cover(self, chosen: NDArray[np.bool_]) -> Cover:
        return Cover(self.begin[chosen], self.end[chosen])


def device_columns(
    planes: tuple[Plane, ...], steps: Steps, launches: Mapping[int, int]
) -> pd.DataFrame:
    """A row a step, the mean of all GPUs of the host.

    Work counts in the step in whose time it ran, from its begin to the next one's: devices lag
    behind the host that launches.

    Arguments:
        planes: of the GPUs.
        steps: the rows.
        launches: when the host launched, by correlation id; picoseconds.

    Returns:
        `kernel_ms` (at least one kernel ran), `kernels`, `kernel_mean_ms`,
        `kernel_launch_delay_ms` (mean time from the launching call to the kernel's begin, queue
        and all), `copy_to_device_ms`, `copy_to_host_ms`, `collective_ms`,
        `device_idle_in_step_ms`, `device_idle_between_steps_ms`, and of the kernels' time
        `tensor_core_eligible_pct` and `tensor_core_pct`. Where collectives ran, also what
        `_exchange_columns` tells.
    """
    found = [_read(plane, launches) for plane in planes]
    devices = [_columns(device, steps) for device in found]
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
    joined = Events(
        np.concatenate([nothing, *(events.name_id for events in streams)]),
        np.concatenate([nothing, *(events.begin for events in streams)]),
        np.concatenate([nothing, *(events.duration for events in streams)]),
        tuple(encoded for events in streams for encoded in events.encoded),
    )

    def named(pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        return np.isin(joined.name_id, plane.ids(pattern.search))

    kernel = ~named(_NO_KERNEL)
    told = [plane.stats(encoded) for encoded in joined.encoded]
    launched = [launches.get(int(stats.get("correlation_id", -1)), np.nan) for stats in told]
    tensor_core = kernel & named(_TENSOR_CORE)
    eligible = [_ELIGIBLE.search(_operation(stats)) is not None for stats in told]
    return _Device(
        joined.begin,
        joined.end,
        kernel,
        named(_TO_DEVICE),
        named(_TO_HOST),
        named(_COLLECTIVE),
        tensor_core | (kernel & np.array(eligible, dtype=bool)),
        tensor_core,
        joined.begin - np.array(launched, dtype=float),
    )


def _operation(stats: Mapping[str, object]) -> str:
    """The operation that launched a kernel: of `model/dense/MatMul:MatMul` the type."""
    name = str(stats.get("tf_op") or stats.get("hlo_op") or "")
    return re.split("[/:]", name)[-1]


def _columns(device: _Device, steps: Steps) -> pd.DataFrame:
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
                "tensor_core_eligible_pct": 100 * sums(device.eligible, length) / time,
                "tensor_core_pct": 100 * sums(device.tensor_core, length) / time,
            }
        )
