"""Advice that only a GPU gives reason for."""

from __future__ import annotations

import math

from keras_perf.advise.as_written import batch_size, in_larger_batches
from keras_perf.advise.recommendation import Change, Recommendation, on_compute, predicted
from keras_perf.advise.rules.followed import (
    computes_in_half,
    has_kernel_threads,
    is_compiled,
    trains_on_larger_batches,
)
from keras_perf.advise.rules.in_a_loop import scaled_loss, with_jit_compile, with_policy
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.analyse.hardware.gpu_busy import busiest, busy_share
from keras_perf.records.figures import in_percent
from keras_perf.records.run.library import on_jax
from keras_perf.records.text.compiled_with import compiled_with

TENSOR_CORES = (7, 0)
BFLOAT16 = (8, 0)
"""Compute capabilities from which on a GPU has them (CUDA C++ Programming Guide)."""

MOST_CLASSES = 2000
"""Outputs of more than these are a vocabulary's."""

MOSTLY_ACTIVE_PCT = 50.0
BUSY_PCT = 80.0
WAITS = 0.1
"""Share of a step; a GPU that waits longer for input and the host is idle for that."""

WAITED_FOR = ("callbacks", "other_host", "compile")
"""Parts of a step in which a GPU idles, beside the wait for input, whatever the batch."""


def _gpu(situation: Situation) -> tuple[int, ...] | None:
    """Compute capability of the GPU that trains; None where there is none."""
    found = situation.facts.machine.training_gpus
    return found[0].compute_capability if found else None


def _in_kernels(situation: Situation) -> float:
    """Share of the compute part in which kernels run, all of it where nobody tells.

    What the host takes to launch them stays, however quick they are.
    """
    busy, compute_ms = busy_share(situation.summary), situation.summary.parts.get("compute")
    if busy is None or not compute_ms:
        return 1.0
    return min(1.0, busy * situation.summary.step_ms / compute_ms)


def _on_kernels(situation: Situation, least: float, expected: float, most: float) -> Change:
    """What is left of the kernels' time: pessimistic, expected, optimistic."""
    share = _in_kernels(situation)
    return on_compute(*(1 - share * (1 - left) for left in (least, expected, most)))


def _was_slower(situation: Situation, without: str) -> bool:
    """A trial in the same directory, before this training, found it quicker without."""
    before = situation.facts.tried_before
    changes = () if before is None else before.changes
    return any(each.id == without and each.low > 1 for each in changes)


@rule(
    "enable-xla",
    tried_title="Compile the train function with XLA",
    followed=is_compiled,
    in_a_loop=with_jit_compile,
)
def enable_xla(situation: Situation) -> Recommendation | None:
    """The train function is not compiled by XLA, on a GPU, where Keras can have it compiled."""
    settings = situation.facts.settings
    wanted = settings.jit_compile is False and situation.facts.xla_may_help
    if _gpu(situation) is None or not wanted or _was_slower(situation, "disable-xla"):
        return None
    return predicted(
        situation.model,
        on_compute(1.0, 0.87, 0.6),
        title="Compile the train function with XLA",
        reason=(
            "XLA fuses operations into fewer kernels. What that buys was not measured here: "
            "a range seen on others' models (tensorflow.org/xla). It compiles anew for each shape: "
            "batches of many lengths would cost more than it buys."
        ),
        action=compiled_with(settings.own_compile, jit_compile=True),
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
    settings = situation.facts.settings
    gpu, in_float32 = _gpu(situation), settings.dtype_policy == "float32"
    slower = _was_slower(situation, "full-precision")
    if gpu is None or gpu < TENSOR_CORES or not in_float32 or slower:
        return None
    policy = "mixed_bfloat16" if gpu >= BFLOAT16 else "mixed_float16"
    if policy == "mixed_float16" and settings.several_in_fit and not on_jax(situation.facts):
        return None  # Keras looks for an overflow in the first replica's gradients only.
    return predicted(
        situation.model,
        _on_kernels(situation, 1.0, 0.7, 0.35),
        title=f"Compute in {policy.removeprefix('mixed_')}",
        reason=(
            "The GPU has tensor cores and half the bytes take half the bandwidth. What that buys "
            "was not measured here: a range seen on others' models (NVIDIA's guide to mixed "
            "precision)."
        ),
        action=(
            f'keras.mixed_precision.set_global_policy("{policy}")  # before building the model'
            f"{scaled_loss(policy, settings)}"
        ),
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
    # As many as there are classes; a vocabulary can be padded.
    classes = {width for width in settings.output_widths if width < MOST_CLASSES}
    inner = set(settings.layer_widths) - classes
    odd = sorted(width for width in inner if width >= 8 and width % 8)
    batch = (situation.summary.examples_per_step or 0.0) / settings.replicas
    if batch >= 8 and batch % 8 == int(batch % 8) != 0:
        odd.append(int(batch))
    if not odd:
        return None
    return predicted(
        situation.model,
        _on_kernels(situation, 1.0, 0.92, 0.7),
        title="Make widths and batch multiples of 8",
        reason=(
            f"Not divisible by 8: {', '.join(map(str, odd))}. Tensor cores work on tiles of "
            "eight. What that buys was not measured here."
        ),
        action="units = -(-units // 8) * 8",
        evidence={"sizes": odd},
    )


_ACTIVITIES = {"sm_active_pct": "SMs are active", "utilization_pct": "Any kernel runs"}
"""Sensors of a GPU, the one that tells more first, and what they say of it."""
_SWEEP = " keras_perf.sweep_batch_size measures other sizes."


def _activity(situation: Situation) -> tuple[str, float] | None:
    """Which sensor tells how active the GPUs that train are, and that of the most active one.

    Only Hopper and newer count their SMs. Of others it is known that a GPU idles where no kernel
    runs, and nothing where the wait for input is not known. None where it waits for input or for
    what the host does between calls, which says nothing of the batch, or was hardly watched.
    """
    summary = situation.summary
    for sensor in _ACTIVITIES:
        if (active := busiest(summary, sensor)) is not None:
            break
    else:
        return None
    not_known = math.inf if sensor == "utilization_pct" else 0.0
    wait_ms = summary.parts.get("input_wait", not_known)
    wait_ms += sum(summary.parts.get(part, 0.0) for part in WAITED_FOR)
    if wait_ms > WAITS * summary.step_ms:
        return None
    return sensor, active


def _twice_the_batch(situation: Situation) -> Change:
    """Of an example: two share the launching of kernels; those that fill the GPU take longer.

    At worst what is taken for launching is something that grows with the batch, as copies do.
    """
    busy, active = busy_share(situation.summary), busiest(situation.summary, "sm_active_pct")
    if not busy:
        return on_compute(1.0, 0.7, 0.5)
    full = 1.0 if active is None else min(1.0, active / 100 / busy)
    return on_compute(1.0, 0.5 + 0.5 * full * _in_kernels(situation), 0.5)


@rule(
    "larger-batch",
    tried_title="Train on larger batches",
    followed=trains_on_larger_batches,
)
def larger_batch(situation: Situation) -> Recommendation | None:
    """Kernels leave most of the GPU idle and memory is free; an exchange has a rule of its own."""
    found, batch = _activity(situation), situation.summary.examples_per_step
    facts, free = situation.facts, situation.facts.gpu.memory_free
    if _gpu(situation) is None or found is None or free is None or not batch:
        return None
    sensor, active = found
    if active > MOSTLY_ACTIVE_PCT or free < 0.5 or situation.model.rest.get("wire"):
        return None
    twice = 2 * (batch_size(facts) or round(batch / max(1.0, facts.settings.fetches_per_step)))
    return predicted(
        situation.model,
        _twice_the_batch(situation),
        title=f"Double the batch to {twice}",
        reason=(
            f"{_ACTIVITIES[sensor]} for {in_percent(active / 100)} of the time and "
            f"{in_percent(free)} of the memory was never used. The speed-up is per example; the "
            f"learning rate may have to follow.{_SWEEP if facts.settings.can_be_swept else ''}"
        ),
        action=in_larger_batches(twice, 2, facts),
        evidence={sensor: active, "memory_free_share": free, "batch": batch},
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
