"""What is known of the machine that trains, and of the libraries on it, without measuring."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import tensorflow as tf

from keras_perf.observation.facts.machine.device_memory import (
    allocated_mib,
    device_memory,
    gpu_names,
)
from keras_perf.observation.facts.machine.host_facts import host_facts
from keras_perf.observers.asking import Questions


def machine_facts() -> Questions:
    """Name → what is asked."""
    threading = tf.config.threading
    return {
        **host_facts(("tensorflow", tf.__version__)),
        "training_gpus": training_gpus,
        "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled,
        "gpu_memory_peak_mib": peak_memory_mib,
        "device_memory": device_memory,
        "gpu_thread_mode": partial(os.environ.get, "TF_GPU_THREAD_MODE"),
        "threads": lambda: {
            "intra_op": threading.get_intra_op_parallelism_threads(),
            "inter_op": threading.get_inter_op_parallelism_threads(),
        },
    }


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
