"""What a context record may hold: the door through which it comes to those who read it.

Behind it a key is there in the shape below, or it is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_perf.read.shapes import (
    Shape,
    WrongShapeError,
    count,
    each,
    flag,
    named,
    number,
    one_of_type,
    record,
    text,
    word_of,
)
from keras_perf.records.outlier import Cause

MACHINES = 1e6
"""Cores, threads, replicas or workers: no training has more."""

SECONDS = number(most=1e9)
MILLISECONDS = number(most=1e12)

_STAGE = record(
    {
        "name": text,
        "cost_ms": MILLISECONDS,
        "parallelism": count(-1, MACHINES),
        "bytes_per_batch": number(),
    },
    {
        "elements_per_batch": number(),
        "ratio": number(),
        "buffer_size": count(-1),
        "buffered": count(),
    },
)

_WRITTEN_STAGE = record(
    {
        "kind": text,
        "function": text,
        "parallel": flag,
        "stateful": flag,
        "random": flag,
        "reads_files": flag,
    },
    {"python": flag, "one_at_a_time": flag, "elements": count()},
)


def _written_stage(value: Any) -> Any:
    """Readers ask for the number of elements, which may be None."""
    return {"elements": None, **_WRITTEN_STAGE(value)}


_DATASET = record(
    {"chains": each(each(_written_stage), least=1)},
    {"deterministic": flag, "threadpool_size": count(0, MACHINES), "prefetch_added": flag},
)


def _dataset(value: Any) -> Any:
    """tf.data adds a prefetch unless it is told not to."""
    return {"prefetch_added": True, **_DATASET(value)}


_EXCHANGE = record(
    {"workers": count(2, MACHINES), "bytes_per_step": count(1)},
    {
        "communication_ms": MILLISECONDS,
        "peer_wait_ms": MILLISECONDS,
        "skew_ms": MILLISECONDS,
        "steadily_ms": number(-1.0, 1e12),
        "slowest_worker": count(0, MACHINES),
    },
)


def _exchange(value: Any) -> Any:
    """Who is steadily the slowest is told with its number or not at all."""
    known = _EXCHANGE(value)
    if ("steadily_ms" in known) != ("slowest_worker" in known):
        raise WrongShapeError
    if known.get("slowest_worker", 0) >= known["workers"]:
        raise WrongShapeError
    return known


_OUTSIDE = record(
    {
        "epoch_gaps": count(),
        "validations": count(),
        "usual_validation_s": SECONDS,
        "validation_s": SECONDS,
        "epoch_callbacks_s": named(SECONDS),
        "epoch_rest_s": SECONDS,
    },
    {
        "warmup_steps": count(),
        "first_execution_s": SECONDS,
        "warmup_s": SECONDS,
        "profiled_s": SECONDS,
        "trial_s": SECONDS,
    },
)

_TRIAL = record(
    {
        "recommended": count(1),
        "predicted_speedup": number(most=1e6),
        "low": number(most=1e6),
        "high": number(most=1e6),
        "reason": text,
        "applied": flag,
    },
    {"evidence": record({}, {"called_less_often": each(text)})},
)

_GPU = record({"compute_capability": each(count(), least=2)}, {"name": text})

EVENT = record(
    {
        "step": count(),
        "cause": word_of(Cause),
        "owner": text,
        "excess_ms": MILLISECONDS,
        "usual_ms": MILLISECONDS,
    }
)

TOTAL = record(
    {"cause": text, "owner": text, "count": count(1), "total_ms": MILLISECONDS},
)

SHAPES: Mapping[str, Shape] = {
    "batch_hooks": each(text),
    "captures": each(one_of_type(dict)),
    "cpu_count": count(1, MACHINES),
    "dataset": _dataset,
    "driver": text,
    "dtype_policy": text,
    "epoch_steps": count(),
    "epochs": count(),
    "event_totals": each(TOTAL),
    "events": each(EVENT),
    "examples_per_step": number(1e-9),
    "exchange": _exchange,
    "first_step": count(),
    "float16_softmax": flag,
    "function_replacements": count(),
    "gpu_memory_peak_mib": number(),
    "gpu_memory_total_mib": number(1e-9),
    "gpu_persistence": named(flag),
    "gpu_thread_mode": text,
    "gpus": named(text),
    "input_kind": text,
    "jit_compile": flag,
    "last_step": count(),
    "layer_widths": each(count()),
    "memory_available_mib": number(),
    "optimizer": text,
    "outside": _OUTSIDE,
    "parameters": count(),
    "prefetch_fill": number(0.0, 1.0),
    "replicas": count(1, MACHINES),
    "run_eagerly": flag,
    "shapes_differ": flag,
    "stages": each(_STAGE),
    "steps_per_execution": count(1, 1e9),
    "steps_per_execution_trial": _TRIAL,
    "strategy": text,
    "threads": named(count(0, MACHINES)),
    "trace_agrees": each(text),
    "trace_differences": each(text),
    "trainable_parameters": count(),
    "training_gpus": each(_GPU),
    "undisturbed_ms": MILLISECONDS,
    "versions": named(text),
    "worker": count(0, MACHINES),
    "workers": count(0, MACHINES),
}
"""What readers expect under each key. A key that is not named here passes as it is."""

LISTS = {"events": EVENT, "event_totals": TOTAL}
"""Keys whose items do not depend on each other: a wrong one costs itself."""


def valid_context(context: Any) -> tuple[dict[str, Any], list[str]]:
    """The context that readers can rely on, and the keys whose values are not as expected.

    Arguments:
        context: decoded JSON, of which nothing is known.

    A key whose value is None is dropped: it was not known.
    """
    if not isinstance(context, dict):
        return {}, ["all of it"]
    known: dict[str, Any] = {}
    wrong = []
    for key, value in context.items():
        if value is None:
            continue
        try:
            known[key], whole = _shaped(key, value)
        except WrongShapeError:
            whole = False
        if not whole:
            wrong.append(key)
    if known.get("first_step", 0) > known.get("last_step", 0):
        wrong += [key for key in ("first_step", "last_step") if known.pop(key, None) is not None]
    elif "first_step" not in known:
        known.pop("last_step", None)
    return known, wrong


def _shaped(key: str, value: Any) -> tuple[Any, bool]:
    """The value, and whether that is all of it."""
    if key not in LISTS or not isinstance(value, list):
        return SHAPES.get(key, lambda same: same)(value), True
    good = []
    for item in value:
        try:
            good.append(LISTS[key](item))
        except WrongShapeError:
            continue
    return good, len(good) == len(value)
