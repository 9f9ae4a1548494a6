"""What decides whether a training uses the machine's GPUs, as it is when training begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keras_perf.records.shapes import any_of, count, each, fact, flag, named, needed, number, text
from keras_perf.records.shapes import record as record_of


@dataclass(frozen=True, slots=True)
class MachineGpu:
    """A GPU of the machine as NVML has it, whether the framework knows it or not.

    `other_processes` compute on it and are not this one; None where that cannot be told: in a
    container NVML may know this process by another number.
    """

    name: str = needed(text)
    utilization_pct: float | None = fact(number(most=100.0))
    other_processes: int | None = fact(count())

    @property
    def busy(self) -> bool:
        """Somebody computes on it, before this training has begun."""
        return (self.utilization_pct or 0.0) >= BUSY_PCT or bool(self.other_processes)


BUSY_PCT = 10.0
"""A GPU that nobody computes on is at 0; a desktop draws with less."""


@dataclass(frozen=True)
class GpuUse:
    """GPUs of the machine, of CUDA, of TensorFlow; and where the model is.

    With a `driver_mismatch` NVML lists no GPU. `cuda_gpus` are what CUDA shows this process, and
    `missing_libraries` what TensorFlow opens and could not: both are asked only where the machine
    has GPUs and TensorFlow finds none, so that `gpus_found` is 0. `gpus_visible` of these
    `tf.config.set_visible_devices` leaves.
    `variables_on` counts the trainable variables on each device, as in `{"GPU:0": 12}`;
    `operations_on` is the device on which `fit`, or the loop, was begun.
    """

    system: str = fact(text, "")
    machine_gpus: tuple[MachineGpu, ...] = fact(any_of(record_of(MachineGpu)), ())
    driver_mismatch: bool = fact(flag, default=False)
    cuda_build: bool | None = fact(flag)
    cuda_visible_devices: str | None = fact(text)
    cuda_gpus: int | None = fact(count())
    missing_libraries: tuple[str, ...] = fact(each(text), ())
    gpus_found: int | None = fact(count())
    gpus_visible: int | None = fact(count())
    variables_on: Mapping[str, int] = fact(named(count()), {})
    operations_on: str | None = fact(text)
