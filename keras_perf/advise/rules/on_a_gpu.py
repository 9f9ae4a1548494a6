"""Advice that only a GPU gives reason for."""

from __future__ import annotations

from keras_perf.advise.recommendation import Recommendation, on_compute, predicted
from keras_perf.advise.rules.followed import (
    computes_in_half,
    has_kernel_threads,
    is_compiled,
    trains_on_larger_batches,
)
from keras_perf.advise.rules.in_a_loop import with_jit_compile, with_policy
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.records.figures import in_percent
from keras_perf.records.run.library import on_jax

TENSOR_CORES = (7, 0)
BFLOAT16 = (8, 0)
"""Compute capabilities from which on a GPU has them (CUDA C++ Programming Guide)."""

MOSTLY_ACTIVE_PCT = 50.0
BUSY_PCT = 80.0


def _gpu(situation: Situation) -> tuple[int, ...] | None:
    """Compute capability of the GPU that trains; None where there is none."""
    found = situation.facts.machine.training_gpus
    return found[0].compute_capability if found else None


@rule(
    "enable-xla",
    tried_title="Compile the train function with XLA",
    followed=is_compiled,
    in_a_loop=with_jit_compile,
)
def enable_xla(situation: Situation) -> Recommendation | None:
    """The train function is not compiled by XLA, on a GPU."""
    if _gpu(situation) is None or situation.facts.settings.jit_compile is not False:
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.87, 0.6),
        title="Compile the train function with XLA",
        reason=(
            "XLA fuses operations into fewer kernels. What that buys was not measured here: "
            "a range seen on others' models (tensorflow.org/xla)."
        ),
        action="model.compile(..., jit_compile=True)",
        evidence={"jit_compile": False},
    )


@rule(
    "mixed-precision",
    tried_title="Compute in half precision",
    followed=computes_in_half,
    in_a_loop=with_policy,
)
def mixed_precision(situation: Situation) -> Recommendation | None:
    """Tensor cores are there and the model computes in float32."""
    gpu = _gpu(situation)
    if gpu is None or gpu < TENSOR_CORES or situation.facts.settings.dtype_policy != "float32":
        return None
    policy = "mixed_bfloat16" if gpu >= BFLOAT16 else "mixed_float16"
    return predicted(
        situation.model,
        on_compute(1.0, 0.7, 0.35),
        title=f"Compute in {policy.removeprefix('mixed_')}",
        reason=(
            "The GPU has tensor cores and half the bytes take half the bandwidth. What that buys "
            "was not measured here: a range seen on others' models (NVIDIA's guide to mixed "
            "precision)."
        ),
        action=f'keras.mixed_precision.set_global_policy("{policy}")  # before building the model',
        evidence={
            "dtype_policy": "float32",
            "advised_policy": policy,
            "compute_capability": list(gpu),
        },
    )


@rule("multiples-of-8")
def multiples_of_8(situation: Situation) -> Recommendation | None:
    """Tensor cores work on tiles of eight, and layers or batches do not fit."""
    gpu, settings = _gpu(situation), situation.facts.settings
    policy = settings.dtype_policy or ""
    if gpu is None or gpu < TENSOR_CORES or not policy.startswith("mixed_"):
        return None
    odd = sorted({w for w in settings.layer_widths if w >= 8 and w % 8})
    batch = situation.summary.examples_per_step
    if batch is not None and batch >= 8 and batch % 8 == int(batch % 8) != 0:
        odd.append(int(batch))
    if not odd:
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.92, 0.7),
        title="Make widths and batch multiples of 8",
        reason=(
            f"Not divisible by 8: {', '.join(map(str, odd))}. Tensor cores work on tiles of "
            "eight. What that buys was not measured here."
        ),
        action="units = -(-units // 8) * 8",
        evidence={"sizes": odd},
    )


@rule(
    "larger-batch",
    tried_title="Train on larger batches",
    followed=trains_on_larger_batches,
)
def larger_batch(situation: Situation) -> Recommendation | None:
    """Kernels leave most of the GPU idle and memory is free."""
    summary = situation.summary
    active, batch = summary.sensors.get("gpu/0/sm_active_pct"), summary.examples_per_step
    known = summary.facts.gpu
    total, peak = known.gpu_memory_total_mib, known.gpu_memory_peak_mib
    if _gpu(situation) is None or active is None or not (total and peak and batch):
        return None
    free = 1 - peak / total
    if active > MOSTLY_ACTIVE_PCT or free < 0.5 or situation.model.rest.get("wire"):
        # Where gradients are exchanged, a rule of its own counts what that gains.
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.7, 0.5),
        title=f"Double the batch to {2 * batch:.0f}",
        reason=(
            f"SMs are active for {in_percent(active / 100)} of the time and {in_percent(free)} of "
            "the memory was never used. The speed-up is per example; the learning rate may have "
            "to follow. `keras_perf.sweep_batch_size` measures other sizes."
        ),
        action=f"dataset = dataset.batch({2 * batch:.0f})",
        evidence={"sm_active_pct": active, "memory_free_share": free, "batch": batch},
    )


@rule(
    "gpu-thread-mode",
    tried_title="Give the GPU's kernels threads of their own",
    followed=has_kernel_threads,
)
def gpu_thread_mode(situation: Situation) -> Recommendation | None:
    """The input pipeline's threads keep those that launch kernels waiting."""
    summary = situation.summary
    busy = summary.sensors.get("host/cpu_pct", 0.0)
    has_it = summary.facts.machine.gpu_thread_mode or on_jax(summary.facts)
    if _gpu(situation) is None or has_it or busy < BUSY_PCT:
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.95, 0.85),
        title="Give the GPU's kernels threads of their own",
        reason=(
            f"The CPUs are {in_percent(busy / 100)} busy, and the threads that launch kernels "
            "share them with the input pipeline. What that buys was not measured here."
        ),
        action='os.environ["TF_GPU_THREAD_MODE"] = "gpu_private"  # before importing TensorFlow',
        evidence={"cpu_pct": busy},
    )
