"""A log directory with everything that a `fit` can leave, and ways to damage it."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hand_built import stage
from hypothesis import strategies as st

from keras_perf.write.run_writer import RunWriter

CONTEXT: dict[str, Any] = {
    "versions": {"keras_perf": "0.1", "tensorflow": "2.18", "keras": "3.8", "python": "3.11"},
    "cpu_count": 8,
    "memory_available_mib": 16000.0,
    "steps_per_execution": 1,
    "dtype_policy": "mixed_float16",
    "parameters": 12345,
    "input_kind": "tf.data",
    "shapes_differ": True,
    "training_gpus": [{"name": "NVIDIA H200", "compute_capability": [9, 0]}],
    "gpu_memory_peak_mib": 900.0,
    "gpu_memory_total_mib": 80000.0,
    "gpus": {"gpu/0": "NVIDIA H200 GPU-1"},
    "gpu_persistence": {"gpu/0": False},
    "gpu_thread_mode": None,
    "system": "Linux",
    "machine_gpus": [{"name": "NVIDIA H200", "utilization_pct": 0.0, "other_processes": 0}] * 2,
    "driver_mismatch": False,
    "cuda_build": True,
    "cuda_visible_devices": "0,1",
    "cuda_gpus": 2,
    "missing_libraries": ["cudnn"],
    "gpus_found": 2,
    "gpus_visible": 2,
    "variables_on": {"GPU:0": 12},
    "operations_on": "GPU:0",
    "threads": {"intra_op": 0, "inter_op": 3},
    "float16_softmax": True,
    "layer_widths": [10, 33],
    "first_step": 0,
    "last_step": 150,
    "epoch_steps": 50,
    "epochs": 3,
    "run_eagerly": False,
    "jit_compile": False,
    "optimizer": "Adam",
    "strategy": "DefaultDistributionStrategy",
    "replicas": 1,
    "function_replacements": 2,
    "dataset": {
        "chains": [
            [
                {
                    "kind": kind,
                    "function": "load",
                    "parallel": False,
                    "stateful": True,
                    "random": kind == "map",
                    "python": True,
                    "one_at_a_time": False,
                    "reads_files": kind == "map",
                    "elements": 1000,
                    "source": {"file": "train.py", "line": 31, "name": "load"},
                    "buffer": 100 if kind == "shuffle" else None,
                }
                for kind in ("map", "batch", "shuffle", "cache", "filter")
            ]
        ],
        "deterministic": True,
        "threadpool_size": 0,
        "prefetch_added": False,
        "file_systems": ["gs://", "ext4"],
    },
    "hook_sources": {"Slow.on_train_batch_end": {"file": "train.py", "line": 12, "name": "x"}},
    "loader": {"kind": "DataLoader", "workers": 2, "read_threads": 16, "persistent": False},
    "input_source": {"file": "train.py", "line": 1, "name": "Photos"},
    "batch_hooks": ["Slow.on_train_batch_end"],
    "trainable_parameters": 1000,
    "worker": 0,
    "workers": 2,
    "exchange": {
        "workers": 2,
        "bytes_per_step": 4000,
        "communication_ms": 2.0,
        "peer_wait_ms": 1.0,
        "skew_ms": 0.5,
        "slowest_worker": 1,
        "steadily_ms": 0.4,
    },
    "events": [
        {
            "step": 60 + place,
            "cause": cause,
            "owner": "Slow.on_train_batch_end",
            "excess_ms": 30.0 + place,
            "usual_ms": 1.0,
        }
        for place, cause in enumerate(("callback", "input-stall", "unknown"))
    ],
    "event_totals": [
        {"cause": cause, "owner": owner, "count": 5, "total_ms": 150.0}
        for cause, owner in (("callback", "Slow.on_train_batch_end"), ("input-stall", ""))
    ],
    "outside": {
        "epoch_gaps": 3,
        "validations": 3,
        "usual_validation_s": 0.2,
        "validation_s": 0.9,
        "epoch_callbacks_s": {"ModelCheckpoint.on_epoch_end": 0.3},
        "epoch_rest_s": 0.1,
        "usual_epoch_rest_s": 0.03,
        "usual_iterator_s": 0.01,
        "usual_first_wait_s": 0.002,
        "first_execution_s": 1.0,
        "warmup_steps": 20,
        "warmup_s": 2.0,
        "profiled_s": 0.0,
        "trial_s": 0.1,
    },
    "start_up": {
        "before_first_step_s": 0.1,
        "first_steps": 1,
        "first_execution_s": 1.0,
        "tracing_s": 0.4,
        "computing_s": 0.3,
        "warmup_wait_s": 0.2,
    },
    "stages": [
        stage(name, 2.0, parallelism=1 + place, bytes_per_batch=4096.0, buffer_size=2, buffered=1)
        for place, name in enumerate(("TensorSlice", "Map", "ParallelMap", "BatchV2"))
    ],
    "prefetch_fill": 0.1,
    "undisturbed_ms": 2.0,
    "examples_per_step": 33.0,
    "captures": [
        {
            "reason": "schedule",
            "first_step": 20,
            "last_step": 40,
            "asked_first_step": 20,
            "asked_last_step": 40,
            "start_s": 0.1,
            "stop_s": 0.5,
            "size_bytes": 70000,
            "trace": "2026_01_01_00_00_00",
            "slowdown": 1.2,
        }
    ],
    "trace_agreement": [
        {
            "part": part,
            "trace_ms": 3.0,
            "split_ms": 4.0,
            "why": why,
            "figure_ms": 0.0,
            "traced_steps": 20,
            "split_steps": 130,
        }
        for part, why in (("train function", "profiler"), ("step", "agrees"))
    ],
    "operations_on_cpu": {"Unique": 2.0},
    "steps_per_execution_trial": {
        "recommended": 8,
        "predicted_speedup": 1.2,
        "low": 1.1,
        "high": 1.3,
        "present": 1,
        "applied": False,
        "in_graph_ms": 9.0,
        "per_execution_ms": 1.0,
        "called_less_often": ["Slow.on_train_batch_end"],
        "host_ms": 0.1,
    },
}
"""Each key that a callback or a loop writes."""

VALUES = {
    "perf/step_time_ms": 10.0,
    "perf/input_wait_ms": 3.0,
    "perf/compute_ms": 4.0,
    "perf/dispatch_ms": 0.5,
    "perf/callbacks_ms": 1.5,
    "perf/other_host_ms": 0.5,
    "perf/compile_ms": 0.5,
    "perf/interval_steps": 10.0,
    "perf/garbage_collection_ms": 0.2,
    "perf/communication_ms": 2.0,
    "perf/peer_wait_ms": 1.0,
    "perf/skew_ms": 0.5,
    "perf/slowest_worker": 1.0,
    "perf_callbacks/Slow.on_train_batch_end_ms": 1.5,
    "host/cpu_pct": 40.0,
    "host/process_cpu_pct": 120.0,
    "host/interpreter_wait_ms": 1.5,
    "gpu/0/utilization_pct": 60.0,
    "gpu/0/p5_utilization_pct": 2.0,
    "gpu/0/p95_utilization_pct": 95.0,
    "gpu/0/sm_active_pct": 20.0,
    "gpu/0/tensor_active_pct": 1.0,
    "gpu/0/throttled_thermal_pct": 20.0,
    "gpu/0/pcie_lanes": 8.0,
    "gpu/0/pcie_max_lanes": 16.0,
    "gpu/0/pcie_generation": 4.0,
    "gpu/0/pcie_max_generation": 5.0,
    "gpu/0/other_processes": 1.0,
    "trace/execution_ms": 3.0,
    "trace/python_ms": 1.0,
    "trace/step_time_ms": 10.0,
    "trace/kernel_ms": 3.0,
    "trace/kernels": 300.0,
    "trace/kernel_mean_ms": 0.01,
    "trace/waits_for_launch_ms": 5.0,
    "trace/waits_for_cpu_operation_ms": 1.0,
    "trace/layout_change_ms": 1.0,
    "trace/unfused_normalization_ms": 1.0,
}

WRONG_FIGURES = (math.inf, -math.inf, math.nan, 0.0, -1.0, 1e-40, 3e38)

WRONG = (
    *(math.inf, -math.inf, math.nan, 0, 0.0, -1, -0.5, 1e-300, 10**30, 1e308),
    *("", "x", [], {}, [None], [1], [[]], {"a": None}, True, False, None),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a value, but to the value itself."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places(value[key], (*path, key))


PLACES = tuple(places(CONTEXT))

contexts = st.lists(
    st.tuples(st.sampled_from(PLACES), st.sampled_from(("drop", *WRONG))), max_size=6
)
"""What is wrong with the context, and where."""

figures = st.lists(
    st.tuples(
        st.sampled_from(tuple(VALUES)),
        st.sampled_from(("drop", *WRONG_FIGURES)),
        st.sampled_from((1, 2, 13)),
    ),
    max_size=8,
)
"""Which tags are wrong, how, and in each how many-th interval."""


def damaged_context(damage: list[tuple[tuple[Any, ...], Any]]) -> dict[str, Any]:
    """The context with some of it replaced or dropped; places that are gone are passed over."""
    context = copy.deepcopy(CONTEXT)
    for (*path, key), wrong in damage:
        inner: Any = context
        try:
            for step in path:
                inner = inner[step]
            if wrong == "drop":
                del inner[key]
            else:
                inner[key] = copy.deepcopy(wrong)
        except (KeyError, IndexError, TypeError):
            continue
    return context


def write_damaged(
    log_dir: Path | str,
    figures: list[tuple[str, Any, int]] = [],  # noqa: B006  never changed
    context: list[tuple[tuple[Any, ...], Any]] = [],  # noqa: B006
    run: str = "perf",
) -> Path:
    """Thirteen intervals and a context, damaged so; returns the file."""
    writer = RunWriter(str(log_dir), run)
    for place in range(1, 14):
        values: dict[str, float] = {**VALUES, "perf/step_time_ms": 10.0 + place % 3}
        for tag, wrong, period in figures:
            if place % period == 0:
                values.pop(tag, None)
                if wrong != "drop":
                    values[tag] = wrong
        writer.scalars(20 + 10 * place, values, wall_time=1e9 + place)
    writer.context(150, damaged_context(context))
    writer.close()
    [path] = Path(log_dir, run).iterdir()
    return path
