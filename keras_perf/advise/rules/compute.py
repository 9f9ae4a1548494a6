"""Advice on the train function itself."""

from __future__ import annotations

import pandas as pd

from keras_perf.advise.recommendation import Change, Recommendation, predicted
from keras_perf.advise.rules.followed import (
    computes_in_half,
    has_kernel_threads,
    is_compiled,
    runs_in_a_graph,
)
from keras_perf.advise.rules.in_a_loop import not_eagerly, with_jit_compile, with_policy
from keras_perf.advise.rules.rule import rule
from keras_perf.advise.situation import Situation
from keras_perf.advise.step_model import INSIDE, StepModel

TENSOR_CORES = (7, 0)
BFLOAT16 = (8, 0)
"""Compute capabilities from which on a GPU has them (CUDA C++ Programming Guide)."""

WORTH_MENDING = 0.02
"""Compiling that takes less than this share of a step may be a stall that was taken for it."""

MOSTLY_PYTHON_CORES = 1.3
"""Operations large enough to matter use several cores; Python uses one. Small ones use one too."""

OPERATION_SHARE = 0.1
"""What an operation costs the runtime, compiled or not, as a share of what Python spends on it."""

IN_GRAPH = 0.6
"""Of what operations compute one by one, so much is left in a graph, which fuses some and runs
others side by side. Three MLPs whose steps took 7.7, 8.3 and 14.4 ms, 0.7, 1.1 and 6.5 of them in
operations, took 0.7, 1.0 and 3.9 ms compiled."""

MOSTLY_ACTIVE_PCT = 50.0
BUSY_PCT = 80.0


@rule("stable-shapes")
def stable_shapes(situation: Situation) -> Recommendation | None:
    """The train function is traced again and again."""
    spent = situation.model.rest.get("compile", 0.0)
    if not spent or spent < WORTH_MENDING * situation.model.step_ms:
        return None

    usual = _usual_share_of_compute(situation.summary.intervals)
    inside = sum(situation.model.rest.get(part, 0.0) for part in INSIDE)
    quickest = (situation.model.undisturbed_ms or inside) / inside if inside else usual
    quickest = min(usual, quickest)

    def change(model: StepModel, optimism: float) -> StepModel:
        # Between the usual step, which follows on compilations, and the quickest ones.
        expected = (usual + quickest) / 2
        end = quickest if optimism > 0 else 1.0
        left = expected + abs(optimism) * (end - expected)
        compiling = 0.1 * max(0.0, -optimism)
        return model.with_rest({"compile": compiling, **dict.fromkeys(INSIDE, left)})

    replaced = situation.facts.settings.function_replacements
    if replaced:
        title = "Keep the train function that is there"
        why = f"a callback made the train function anew {replaced} times."
        action = (
            "model.make_train_function(force=True)  # only where trainable layers change: for "
            "several of them at once, or between two calls of fit"
        )
    else:
        title = "Give the train function batches of one shape"
        why = "input shapes or Python arguments change."
        action = "dataset = dataset.batch(batch_size, drop_remainder=True)  # and pad other axes"
    return predicted(
        situation.model,
        change,
        title=title,
        reason=(
            f"Tracing and compiling after warm-up takes {spent:.3g} ms per step on average: {why}"
        ),
        action=action,
        evidence={"compile_ms": spent, "function_replacements": replaced},
    )


def _usual_share_of_compute(intervals: pd.DataFrame) -> float:
    """What a step usually computes, as a share of the mean; at most 1.

    A compilation that was not recognised lies in compute, and the steps after one are slower,
    since it has used all cores and caches. Both go with it: the median interval has neither.
    """
    inside = intervals["compute"]
    if "dispatch" in intervals:
        inside = inside + intervals["dispatch"].fillna(0.0)
    steps = intervals["steps"]
    mean = (inside * steps).sum() / steps.sum()
    in_order = inside.sort_values()
    reached = steps[in_order.index].cumsum() >= steps.sum() / 2
    return float(min(1.0, in_order[reached].iloc[0] / mean)) if mean > 0 else 1.0


@rule("disable-run-eagerly", followed=runs_in_a_graph, in_a_loop=not_eagerly)
def disable_run_eagerly(situation: Situation) -> Recommendation | None:
    """Every operation is run from Python."""
    if not situation.facts.settings.run_eagerly:
        return None

    summary = situation.summary
    setting = "run_eagerly=True"
    if situation.facts.settings.in_a_loop:
        setting = "tf.config.run_functions_eagerly(True)"
    reason = f"{setting} runs every operation from Python; it is meant for debugging."
    evidence = {"compute_ms": summary.parts.get("compute")}
    operating = _share_of_operations(situation)
    if operating is not None:
        evidence["operations_share"] = operating
        reason += f" Operations themselves take {operating:.0%} of what it computes."
        own, python = OPERATION_SHARE * (1 - operating), 1 - operating
        computing = max(0.0, operating - own)
        change = _on_compute(
            min(1.0, 2 * OPERATION_SHARE * python + computing),
            own + IN_GRAPH * computing,
            0.7 * own + 0.4 * computing,
        )
    else:
        cores_used = summary.sensors.get("host/process_cpu_pct", 200.0) / 100
        evidence["cores_used"] = cores_used
        reason += " How much of that is Python was not traced: what it buys is a guess."
        mostly_python = cores_used < MOSTLY_PYTHON_CORES
        change = _on_compute(0.5, 0.13, 0.05) if mostly_python else _on_compute(0.95, 0.6, 0.3)
    return predicted(
        situation.model,
        change,
        title="Compile the train step",
        reason=reason,
        action="model.compile(..., run_eagerly=False)",
        evidence=evidence,
    )


def _share_of_operations(situation: Situation) -> float | None:
    """What operations take of an eager step's computing, the rest being Python.

    On a CPU from a trace; a GPU's work runs beside Python, for as long as the GPU is utilized.
    """
    summary = situation.summary
    if situation.model.on_gpu:
        utilized = summary.sensors.get("gpu/0/utilization_pct")
        return None if utilized is None else min(1.0, utilized / 100)
    operations, python = (summary.trace.get(name) for name in ("execution_ms", "python_ms"))
    if operations is None or not python:
        return None
    return operations / (operations + python)


def _on_compute(least: float, expected: float, most: float) -> Change:
    """What is left of compute: pessimistic, expected, optimistic."""

    def change(model: StepModel, optimism: float) -> StepModel:
        other = most if optimism > 0 else least
        left = expected + abs(optimism) * (other - expected)
        return model.with_rest({"compute": left})

    return change


def _gpu(situation: Situation) -> tuple[int, ...] | None:
    """Compute capability of the GPU that trains; None where there is none."""
    found = situation.facts.machine.training_gpus
    return found[0].compute_capability if found else None


@rule("enable-xla", followed=is_compiled, in_a_loop=with_jit_compile)
def enable_xla(situation: Situation) -> Recommendation | None:
    """The train function is not compiled by XLA, on a GPU."""
    if _gpu(situation) is None or situation.facts.settings.jit_compile is not False:
        return None
    return predicted(
        situation.model,
        _on_compute(1.0, 0.87, 0.6),
        title="Compile the train function with XLA",
        reason=(
            "XLA fuses operations into fewer kernels. What that buys was not measured here: "
            "a range seen on others' models (tensorflow.org/xla)."
        ),
        action="model.compile(..., jit_compile=True)",
        evidence={"jit_compile": False},
    )


@rule("mixed-precision", followed=computes_in_half, in_a_loop=with_policy)
def mixed_precision(situation: Situation) -> Recommendation | None:
    """Tensor cores are there and the model computes in float32."""
    gpu = _gpu(situation)
    if gpu is None or gpu < TENSOR_CORES or situation.facts.settings.dtype_policy != "float32":
        return None
    policy = "mixed_bfloat16" if gpu >= BFLOAT16 else "mixed_float16"
    return predicted(
        situation.model,
        _on_compute(1.0, 0.7, 0.35),
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
        _on_compute(1.0, 0.92, 0.7),
        title="Make widths and batch multiples of 8",
        reason=(
            f"Not divisible by 8: {', '.join(map(str, odd))}. Tensor cores work on tiles of "
            "eight. What that buys was not measured here."
        ),
        action="units = -(-units // 8) * 8",
        evidence={"sizes": odd},
    )


@rule("larger-batch")
def larger_batch(situation: Situation) -> Recommendation | None:
    """Kernels leave most of the GPU idle and memory is free."""
    summary = situation.summary
    active, batch = summary.sensors.get("gpu/0/sm_active_pct"), summary.examples_per_step
    known = summary.facts.gpu
    total, peak = known.gpu_memory_total_mib, known.gpu_memory_peak_mib
    if _gpu(situation) is None or active is None or not (total and peak and batch):
        return None
    free = 1 - peak / total
    if active > MOSTLY_ACTIVE_PCT or free < 0.5:
        return None
    return predicted(
        situation.model,
        _on_compute(1.0, 0.7, 0.5),
        title=f"Double the batch to {2 * batch:.0f}",
        reason=(
            f"SMs are active for {active:.0f} % of the time and {free:.0%} of the memory was never "
            "used. The speed-up is per example; the learning rate may have to follow."
        ),
        action=f"dataset = dataset.batch({2 * batch:.0f})",
        evidence={"sm_active_pct": active, "memory_free_share": free, "batch": batch},
    )


@rule("gpu-thread-mode", followed=has_kernel_threads)
def gpu_thread_mode(situation: Situation) -> Recommendation | None:
    """The input pipeline's threads keep those that launch kernels waiting."""
    summary = situation.summary
    busy = summary.sensors.get("host/cpu_pct", 0.0)
    if _gpu(situation) is None or summary.facts.machine.gpu_thread_mode or busy < BUSY_PCT:
        return None
    return predicted(
        situation.model,
        _on_compute(1.0, 0.95, 0.85),
        title="Give the GPU's kernels threads of their own",
        reason=(
            f"The CPUs are {busy:.0f} % busy, and the threads that launch kernels share them with "
            "the input pipeline. What that buys was not measured here."
        ),
        action='os.environ["TF_GPU_THREAD_MODE"] = "gpu_private"  # before importing TensorFlow',
        evidence={"cpu_pct": busy},
    )
