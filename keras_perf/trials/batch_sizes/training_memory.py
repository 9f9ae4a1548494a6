"""The memory that training takes, of this process or of its GPU, and its limit."""

from __future__ import annotations

import contextlib
import math
import re
import resource
from pathlib import Path
from typing import Protocol

import tensorflow as tf

from keras_perf.observers.sensors.container_memory import memory_available_mib

_MIB = 2**20
_PROC = Path("/proc/self")

AVAILABLE = 0.9
"""Share of the memory available that training may take: the rest is for other programs."""

UNUSED_MIB = 64
"""Linux limits what a process has asked for: stacks of threads and heaps, too, hardly ever used."""


class TrainingMemory(Protocol):
    """Memory from its making on; about `limit_mib` more, and asking for memory fails."""

    limit_mib: float

    def peak_mib(self) -> float:
        """The most that was held at once."""


def only_so_much(limit_mib: float | None) -> None:
    """Gives TensorFlow this much of each GPU; before TensorFlow starts these."""
    if limit_mib is not None:
        for gpu in tf.config.list_physical_devices("GPU"):
            slice_of_it = tf.config.LogicalDeviceConfiguration(memory_limit=limit_mib)
            tf.config.set_logical_device_configuration(gpu, [slice_of_it])


def training_memory(limit_mib: float | None) -> TrainingMemory:
    """Of the first GPU if there is one, else of this process."""
    if tf.config.list_logical_devices("GPU"):
        return GpuMemory(limit_mib)
    return HostMemory(limit_mib)


class GpuMemory:
    """What TensorFlow's allocator gives out on the first GPU, the model's weights among it.

    Arguments:
        limit_mib: what `only_so_much` has given it; None for all that it found free.
    """

    def __init__(self, limit_mib: float | None) -> None:
        self.limit_mib = _free_mib() if limit_mib is None else limit_mib
        tf.config.experimental.reset_memory_stats("GPU:0")

    def peak_mib(self) -> float:
        """The allocator's peak."""
        return float(tf.config.experimental.get_memory_info("GPU:0")["peak"]) / _MIB


class HostMemory:
    """Resident memory of this process beyond what it holds when this is made.

    Arguments:
        limit_mib: what training may take; None for most of what is available.
    """

    def __init__(self, limit_mib: float | None) -> None:
        available = AVAILABLE * memory_available_mib()
        self.limit_mib = min(available, math.inf if limit_mib is None else limit_mib)
        with contextlib.suppress(OSError):
            # The peak so far is that of starting TensorFlow.
            (_PROC / "clear_refs").write_text("5")
        self._before = _status("VmRSS")
        limit = _status("VmData") + int((self.limit_mib + UNUSED_MIB) * _MIB)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))

    def peak_mib(self) -> float:
        """The kernel's own peak, less what was there before."""
        return (_status("VmHWM") - self._before) / _MIB


def _free_mib() -> float:
    """What the allocator may take of the first GPU."""
    # No public name tells it.
    from tensorflow.python.client import device_lib

    devices = device_lib.list_local_devices()
    return float(next(d.memory_limit for d in devices if d.device_type == "GPU")) / _MIB


def _status(field: str) -> int:
    """Bytes of a field that Linux gives in kB."""
    found = re.search(rf"^{field}:\s+(\d+) kB", (_PROC / "status").read_text(), re.MULTILINE)
    assert found is not None
    return 1024 * int(found[1])
