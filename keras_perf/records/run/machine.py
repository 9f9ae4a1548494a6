"""What is known of the machine that trains."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from keras_perf.records.shapes import count, each, fact, flag, named, needed, number, record, text

TENSOR_CORES, BFLOAT16 = (7, 0), (8, 0)
"""Compute capabilities from which on GPUs have the first, but for some, and compute in the second
(CUDA C++ Programming Guide)."""

WITHOUT_TENSOR_CORES = re.compile(r"\b(GTX 16\d\d|MX[45]50|T[4-9]\d\d|T[12][02]00)\b")
"""Names of (7, 5) that are made of the chips TU116 and TU117, which have none."""

MACHINES = 1e6
"""Cores, threads, replicas or workers: no training has more."""


@dataclass(frozen=True, slots=True)
class TrainingGpu:
    """A GPU that TensorFlow trains on, with its compute capability, such as (9, 0)."""

    compute_capability: tuple[int, ...] = needed(each(count(), least=2))
    name: str = fact(text, "")

    @property
    def has_tensor_cores(self) -> bool:
        """It multiplies matrices in half precision many times as fast."""
        without = WITHOUT_TENSOR_CORES.search(self.name)
        return self.compute_capability >= TENSOR_CORES and not without


@dataclass(frozen=True)
class Machine:
    """What trains.

    `cpu_bfloat16` is whether the processor computes in bfloat16, None where nobody tells.
    `threads` are those of TensorFlow's pools as set, 0 where nobody set them; `tensor_float_32`,
    whether products of float32 may be computed with fewer digits where the GPU can;
    `container_memory_mib` what a container may use of `memory_total_mib`, None without a limit;
    `memory_available_mib` what is left of both; `container_cpus`, of how many logical CPUs it may
    use the time.
    """

    cpu_count: int | None = fact(count(1, MACHINES))
    cpu_bfloat16: bool | None = fact(flag)
    memory_available_mib: float | None = fact(number())
    memory_total_mib: float | None = fact(number(1e-9))
    container_memory_mib: float | None = fact(number(1e-9))
    container_cpus: float | None = fact(number(1e-9))
    threads: Mapping[str, int] = fact(named(count(0, MACHINES)), {})
    gpu_thread_mode: str | None = fact(text)
    training_gpus: tuple[TrainingGpu, ...] = fact(each(record(TrainingGpu)), ())
    tensor_float_32: bool | None = fact(flag)

    @property
    def cores(self) -> int:
        """Logical CPUs that may be used at once; 1 where that is not known."""
        cores, of_container = self.cpu_count or 1, self.container_cpus
        return cores if of_container is None else min(cores, math.ceil(of_container))
