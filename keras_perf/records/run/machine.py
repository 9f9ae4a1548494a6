"""What is known of the machine that trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from keras_perf.records.shapes import count, each, fact, flag, named, needed, number, record, text

MACHINES = 1e6
"""Cores, threads, replicas or workers: no training has more."""


@dataclass(frozen=True, slots=True)
class TrainingGpu:
    """A GPU that TensorFlow trains on, with its compute capability, such as (9, 0)."""

    compute_capability: tuple[int, ...] = needed(each(count(), least=2))
    name: str = fact(text, "")


@dataclass(frozen=True)
class Machine:
    """What trains.

    `cpu_bfloat16` is whether the processor computes in bfloat16, None where nobody tells.
    `threads` are those of TensorFlow's pools as set, 0 where nobody set them; `tensor_float_32`,
    whether products of float32 may be computed with fewer digits where the GPU can;
    `container_memory_mib` what a container may use of `memory_total_mib`, None without a limit;
    `memory_available_mib` what is left of both.
    """

    cpu_count: int | None = fact(count(1, MACHINES))
    cpu_bfloat16: bool | None = fact(flag)
    memory_available_mib: float | None = fact(number())
    memory_total_mib: float | None = fact(number(1e-9))
    container_memory_mib: float | None = fact(number(1e-9))
    threads: Mapping[str, int] = fact(named(count(0, MACHINES)), {})
    gpu_thread_mode: str | None = fact(text)
    training_gpus: tuple[TrainingGpu, ...] = fact(each(record(TrainingGpu)), ())
    tensor_float_32: bool | None = fact(flag)

    @property
    def cores(self) -> int:
        """Logical CPUs; 1 where that is not known."""
        return self.cpu_count or 1
