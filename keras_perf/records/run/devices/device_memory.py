"""The memory of a device that TensorFlow trains on, as its allocator counts it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from keras_perf.records.shapes import fact, needed, number, text


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """MiB that were allocated when this was written, at most at once, and that may be.

    `name` is TensorFlow's, such as `GPU:0`. The peak counts from the process's begin, or from
    `tf.config.experimental.reset_memory_stats`.
    """

    name: str = needed(text)
    current_mib: float = needed(number())
    peak_mib: float = needed(number())
    limit_mib: float | None = fact(number(1e-9))

    @property
    def tag(self) -> str:
        """The tags of its scalars begin so."""
        return self.name.lower().replace(":", "/")

    @property
    def scalars(self) -> dict[str, float]:
        """Tag → MiB of what is logged of it."""
        return {
            f"{self.tag}/allocated_mib": self.current_mib,
            f"{self.tag}/peak_allocated_mib": self.peak_mib,
        }


def peaks(devices: Iterable[DeviceMemory]) -> dict[str, float]:
    """Name → MiB."""
    return {device.name: device.peak_mib for device in devices}
