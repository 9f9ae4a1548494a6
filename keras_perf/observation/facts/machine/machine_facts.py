"""What is known of the machine that trains, and of the libraries on it, without measuring."""

from __future__ import annotations

import gc
import os
import platform
from functools import partial
from importlib.metadata import version
from typing import Any

import keras
import psutil
import tensorflow as tf

from keras_perf.observation.facts.machine.container_memory import container_memory
from keras_perf.observation.facts.machine.device_memory import (
    allocated_mib,
    device_memory,
    gpu_names,
)
from keras_perf.observers.asking import Questions


def machine_facts() -> Questions:
    """Name → what is asked."""
    threading = tf.config.threading
    return {
        "versions": _versions,
        "cpu_count": _cpu_count,
        "memory_available_mib": _memory_available_mib,
        "memory_total_mib": lambda: psutil.virtual_memory().total / 2**20,
        "container_memory_mib": _container_memory_mib,
        "training_gpus": training_gpus,
        "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled,
        "gpu_memory_peak_mib": peak_memory_mib,
        "device_memory": device_memory,
        "gpu_thread_mode": partial(os.environ.get, "TF_GPU_THREAD_MODE"),
        "collector_threshold": _collector_threshold,
        "threads": lambda: {
            "intra_op": threading.get_intra_op_parallelism_threads(),
            "inter_op": threading.get_inter_op_parallelism_threads(),
        },
    }


def _collector_threshold() -> int:
    """New objects that Python's garbage collector waits for; 0 where it is off."""
    return gc.get_threshold()[0] if gc.isenabled() else 0


def _versions() -> dict[str, str]:
    return {
        "keras_perf": version("keras-perf"),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "python": platform.python_version(),
    }


def _memory_available_mib() -> float:
    """What may still be used: of the machine's memory, or of the container's."""
    available_mib = float(psutil.virtual_memory().available / 2**20)
    container = container_memory()
    return available_mib if container is None else min(available_mib, container.available_mib)


def _container_memory_mib() -> float | None:
    container = container_memory()
    return None if container is None else container.limit_mib


def _cpu_count() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def training_gpus() -> list[dict[str, Any]]:
    """Name, compute capability and memory of each GPU that TensorFlow trains on."""
    found = []
    for device in tf.config.get_visible_devices("GPU"):
        details = tf.config.experimental.get_device_details(device)
        name, capability = details.get("device_name"), details.get("compute_capability")
        if capability is not None:
            found.append({"name": name, "compute_capability": list(capability)})
    return found


def peak_memory_mib() -> float | None:
    """The most that TensorFlow used of the first GPU's memory; None without a GPU."""
    names = gpu_names()
    return allocated_mib(names[0])[1] if names else None
