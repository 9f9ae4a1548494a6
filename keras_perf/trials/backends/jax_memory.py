"""The memory that training takes on JAX, and its limit."""

from __future__ import annotations

import contextlib
from typing import Any

import jax

from keras_perf.trials.backends.host_memory import HostMemory, TrainingMemory

_MIB = 2**20


def training_memory(limit_mib: float | None) -> TrainingMemory:
    """Of the first GPU if there is one, else of this process."""
    gpu = _first_gpu()
    return HostMemory(limit_mib) if gpu is None else GpuMemory(gpu, limit_mib)


def gpu_capability() -> tuple[int, ...] | None:
    """As JAX tells it of the first GPU."""
    with contextlib.suppress(AttributeError, ValueError):
        # AMD's are names.
        return tuple(int(part) for part in str(_first_gpu().compute_capability).split("."))
    return None


def _first_gpu() -> Any:
    return next((each for each in jax.local_devices() if each.platform == "gpu"), None)


class GpuMemory:
    """What JAX's allocator gives out on a GPU since the process began.

    Arguments:
        gpu: its device.
        limit_mib: what training may take; None for all that the allocator may.
    """

    def __init__(self, gpu: Any, limit_mib: float | None) -> None:
        self._gpu = gpu
        self.limit_mib = self._told("bytes_limit") if limit_mib is None else limit_mib

    def peak_mib(self) -> float:
        """The allocator's peak."""
        return self._told("peak_bytes_in_use")

    def _told(self, name: str) -> float:
        return float(self._gpu.memory_stats()[name]) / _MIB
