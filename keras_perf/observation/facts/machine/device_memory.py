"""The memory of every device that TensorFlow counts it of: GPUs, not the CPU."""

from __future__ import annotations

import contextlib

import tensorflow as tf

from keras_perf.records.run.devices.device_memory import DeviceMemory

_MIB = 2**20


def gpu_names() -> list[str]:
    """`GPU:0`, … of each GPU that TensorFlow uses, which has been started by now."""
    if not tf.config.get_visible_devices("GPU"):
        return []
    return [gpu.name.rpartition("device:")[2] for gpu in tf.config.list_logical_devices("GPU")]


def allocated_mib(name: str) -> tuple[float, float]:
    """What is allocated on a device, and the most that was."""
    known = tf.config.experimental.get_memory_info(name)
    return known["current"] / _MIB, known["peak"] / _MIB


def device_memory() -> list[DeviceMemory]:
    """Of each GPU; none where there is none."""
    if not (names := gpu_names()):
        return []
    limits = memory_limits_mib()
    return [DeviceMemory(name, *allocated_mib(name), limits.get(name)) for name in names]


def allocated_by_tag() -> dict[str, float]:
    """The same as scalars; none where a GPU is shared out as several, whose tags would be one's."""
    names = gpu_names()
    if len(names) != len(tf.config.get_visible_devices("GPU")):
        return {}
    devices = (DeviceMemory(name, *allocated_mib(name)) for name in names)
    return {tag: mib for device in devices for tag, mib in device.scalars.items()}


def memory_limits_mib() -> dict[str, float]:
    """What each device's allocator may take at most, by the device's name.

    No public name tells it without starting all devices anew, so this asks the private context.
    Without it the diagnosis does not say how much room is left.
    """
    limits: dict[str, float] = {}
    with contextlib.suppress(ImportError, AttributeError, TypeError, RuntimeError):
        from tensorflow.python import pywrap_tfe
        from tensorflow.python.client import pywrap_tf_session
        from tensorflow.python.eager import context

        devices = pywrap_tfe.TFE_ContextListDevices(context.context()._handle)
        try:
            for place in range(pywrap_tfe.TF_DeviceListCount(devices)):
                name = pywrap_tfe.TF_DeviceListName(devices, place).rpartition("device:")[2]
                limit = pywrap_tf_session.TF_DeviceListMemoryBytes(devices, place)
                if limit > 0:
                    limits[name] = limit / _MIB
        finally:
            pywrap_tfe.TF_DeleteDeviceList(devices)
    return limits
