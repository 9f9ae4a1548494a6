"""The memory that training takes on TensorFlow, and its limit."""

from __future__ import annotations

import tensorflow as tf

from keras_perf.trials.backends.host_memory import HostMemory, TrainingMemory

_MIB = 2**20


def only_so_much(limit_mib: float | None) -> None:
    """Gives TensorFlow this much of each GPU that it may use; before TensorFlow starts these."""
    if limit_mib is not None:
        for gpu in tf.config.get_visible_devices("GPU"):
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


def _free_mib() -> float:
    """What the allocator may take of the first GPU."""
    # No public name tells it.
    from tensorflow.python.client import device_lib

    devices = device_lib.list_local_devices()
    return float(next(d.memory_limit for d in devices if d.device_type == "GPU")) / _MIB
