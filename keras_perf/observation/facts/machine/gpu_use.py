"""Whether TensorFlow can use the machine's GPUs, and does: what is asked when training begins."""

from __future__ import annotations

import os
import platform
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_perf.observers.asking import Questions
from keras_perf.observers.nvml.cuda_order import CudaError, cuda_uuids
from keras_perf.observers.nvml.machine_gpus import driver_mismatch, machine_gpus

LIBRARIES = ("cudart", "cublas", "cublasLt", "cufft", "cusolver", "cusparse", "cudnn")
"""What TensorFlow opens, all of it, before it takes a GPU (xla/tsl/platform/default/
dlopen_checker.cc, TryDlopenCUDALibraries): without one of them it takes none."""

LOADED = Path("/proc/self/maps")
"""The files that this process has loaded, as Linux lists them."""

_OWN_PLACES = ("ParameterServerStrategyV2", "ParameterServerStrategy", "CentralStorageStrategy")
"""These keep variables on CPUs on purpose."""


def gpu_use_facts() -> Questions:
    """Name → what is asked, once, in the thread that trains."""

    def found() -> int:
        return len(tf.config.list_physical_devices("GPU"))

    def visible() -> int:
        return len(tf.config.get_visible_devices("GPU"))

    @cache
    def on_machine() -> list[dict[str, Any]]:
        return machine_gpus(we_use_one=visible() > 0)

    def unexplained() -> bool:
        return bool(on_machine()) and tf.test.is_built_with_cuda() and not found()

    return {
        "system": platform.system,
        "machine_gpus": on_machine,
        "driver_mismatch": lambda: not on_machine() and driver_mismatch(),
        "cuda_build": tf.test.is_built_with_cuda,
        "cuda_visible_devices": partial(os.environ.get, "CUDA_VISIBLE_DEVICES"),
        "gpus_found": found,
        "gpus_visible": visible,
        "cuda_gpus": lambda: _shown_by_cuda() if unexplained() else None,
        "missing_libraries": lambda: missing_libraries(LOADED) if unexplained() else None,
        "operations_on": operations_on,
    }


def _shown_by_cuda() -> int | None:
    try:
        return len(cuda_uuids())
    except CudaError:
        return None


def missing_libraries(maps: Path) -> list[str]:
    """Those that TensorFlow has tried to open and that this process has not loaded.

    What it cannot see: anything, where the list of loaded files is not Linux's.
    """
    loaded = maps.read_text(errors="replace") if maps.exists() else None
    return [] if loaded is None else [n for n in LIBRARIES if f"/lib{n}.so" not in loaded]


def operations_on() -> str | None:
    """The device that an operation runs on where nobody says otherwise; None without a GPU.

    Inside of `with tf.device(…)` that is the one which is named there, for a `tf.function` that
    is called there too.
    """
    if not tf.config.get_visible_devices("GPU"):
        return None
    return _short(tf.zeros(()).device)


def variables_on(model: keras.Model) -> dict[str, int] | None:
    """How many of the trainable variables each device holds; None without a GPU."""
    if not tf.config.get_visible_devices("GPU"):
        return None
    if type(model.distribute_strategy).__name__ in _OWN_PLACES:
        return None
    return dict(Counter(_short(str(each.value.device)) for each in model.trainable_variables))


def _short(device: str) -> str:
    """`GPU:0` of `/job:localhost/replica:0/task:0/device:GPU:0`."""
    return device.rpartition("device:")[2]
