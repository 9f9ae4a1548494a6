"""What JAX tells of itself and of its devices."""

from __future__ import annotations

from typing import Any

import jax
import keras

from keras_perf.observation.facts.machine.host_facts import host_facts
from keras_perf.observers.asking import Questions
from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.records.run.devices.device_memory import DeviceMemory

_MIB = 2**20


def jax_facts() -> Questions:
    """Name → what is asked."""
    return {
        **host_facts(("jax", jax.__version__)),
        "training_gpus": training_gpus,
        "gpu_memory_peak_mib": peak_memory_mib,
        "device_memory": device_memory,
    }


def distribution_facts() -> Questions:
    """How `keras.distribution` shares batches out; one device where there is none."""
    distribution = keras.distribution.distribution()
    return {
        "strategy": lambda: None if distribution is None else type(distribution).__name__,
        "replicas": lambda: 1 if distribution is None else _replicas(distribution),
    }


def devices_of_mesh() -> int:
    """How many share a step: `replicas` of its batch, or parts of its layers."""
    distribution = keras.distribution.distribution()
    return 1 if distribution is None else int(distribution.device_mesh.devices.size)


def _replicas(distribution: Any) -> int:
    mesh = distribution.device_mesh
    return int(mesh.shape[mesh.axis_names.index(distribution.batch_dim_name)])


def gpu_devices() -> list[Any]:
    """The GPUs of this process, in JAX's order."""
    return [device for device in jax.local_devices() if device.platform == "gpu"]


def gpus() -> Seen:
    """By what CUDA shows JAX, of which a process may have been given some."""
    return Seen(None, tuple(int(device.local_hardware_id) for device in gpu_devices()))


def training_gpus() -> list[dict[str, Any]]:
    """Name and compute capability of each GPU."""
    found = []
    for device in gpu_devices():
        capability = [int(part) for part in str(device.compute_capability).split(".")]
        found.append({"name": device.device_kind, "compute_capability": capability})
    return found


def device_memory() -> list[DeviceMemory]:
    """Of each GPU, as JAX's allocator counts it; none where there is none."""
    found = []
    for place, device in enumerate(gpu_devices()):
        known = device.memory_stats() or {}
        if "bytes_in_use" in known:
            used, peak = known["bytes_in_use"], known.get("peak_bytes_in_use")
            limit = known.get("bytes_limit")
            found.append(
                DeviceMemory(
                    f"GPU:{place}",
                    used / _MIB,
                    (used if peak is None else peak) / _MIB,
                    None if limit is None else limit / _MIB,
                )
            )
    return found


def peak_memory_mib() -> float | None:
    """The most that was used of the first GPU's memory; None without a GPU."""
    known = device_memory()
    return known[0].peak_mib if known else None


def allocated_by_tag() -> dict[str, float]:
    """The same as scalars."""
    return {tag: mib for device in device_memory() for tag, mib in device.scalars.items()}
