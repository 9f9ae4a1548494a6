"""When a note tells of what a GPU's trace shows, how much it is, and when none does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import H200, diagnosed, summary

from keras_perf.advise.notes.devices.gpu_trace import gpu_trace_notes

HEALTHY = {
    "step_time_ms": 12.0,
    "kernel_ms": 6.0,
    "kernels": 300.0,
    "kernel_mean_ms": 0.02,
    "waits_for_launch_ms": 2.3,
    "waits_for_cpu_operation_ms": 0.5,
    "layout_change_ms": 0.4,
    "unfused_normalization_ms": 0.4,
}
"""A step that takes 10 ms without the profiler."""


def notes(context=None, **trace):
    run = summary(compute=10.0, context=H200 | (context or {}))
    return list(gpu_trace_notes(diagnosed(replace(run, trace=HEALTHY | trace))))


def test_nothing_is_said_of_a_healthy_step():
    assert notes() == []


def test_nothing_is_said_without_a_trace_of_a_gpu():
    assert list(gpu_trace_notes(diagnosed(summary(compute=10.0)))) == []
    assert notes(kernel_ms=0.0, waits_for_launch_ms=12.0) == []


def test_a_step_of_many_short_kernels_waits_for_their_launches():
    (said,) = notes(waits_for_launch_ms=6.0)
    assert "launch kernels for 6 ms of each traced step of 12 ms" in said
    assert "300 kernels a step, 20 µs each" in said
    assert "jit_compile=True makes them fewer, a larger batch longer. TF_GPU_THREAD_MODE" in said
    done = {"jit_compile": True, "gpu_thread_mode": "gpu_private"}
    (said,) = notes(done, waits_for_launch_ms=6.0)
    assert "each. A larger batch makes them longer. (The" in said


def test_on_jax_tensorflows_threads_and_layouts_are_not_spoken_of():
    jax = {"versions": {"jax": "0.10.2"}, "jit_compile": True}
    (said,) = notes(jax, waits_for_launch_ms=6.0)
    assert "TF_GPU" not in said
    (said,) = notes(jax | {"dtype_policy": "float32"}, layout_change_ms=1.5)
    assert "TensorFlow" not in said


@pytest.mark.parametrize(
    "trace", [{"kernels": 49.0}, {"kernel_mean_ms": 0.06}, {"kernel_ms": 7.5}, {}]
)
def test_few_or_long_kernels_or_a_busy_device_are_not_bound_by_launches(trace):
    waits = {"waits_for_launch_ms": 6.0} if trace else {}
    assert notes(**waits | trace) == []


def test_operations_on_the_cpu_are_named_with_their_time():
    (said,) = notes(
        {"operations_on_cpu": {"Unique": 3.0, "Where": 0.25}}, waits_for_cpu_operation_ms=3.0
    )
    assert "(Unique 3 ms, Where 0.25 ms) for 3 ms of each traced step of 12 ms" in said
    (said,) = notes(waits_for_cpu_operation_ms=0.7)
    assert "run on the CPU for 0.7 ms" in said


@pytest.mark.parametrize(
    ("context", "remedy"),
    [
        ({"dtype_policy": "float32"}, 'set_global_policy("mixed_bfloat16")'),
        (
            {
                "dtype_policy": "float32",
                "training_gpus": [{"name": "V100", "compute_capability": [7, 0]}],
            },
            'set_global_policy("mixed_float16")',
        ),
        ({"dtype_policy": "mixed_float16"}, 'data_format="channels_last"'),
    ],
)
def test_changes_of_layout_are_told_with_what_needs_none(context, remedy):
    (said,) = notes(context, layout_change_ms=1.5)
    assert "takes 1.5 ms, 15% of a step, on the GPU" in said
    assert remedy in said


def test_on_a_gpu_without_tensor_cores_no_precision_is_advised():
    old = {"training_gpus": [{"name": "P100", "compute_capability": [6, 0]}]}
    (said,) = notes(old | {"dtype_policy": "float32"}, layout_change_ms=1.5)
    assert "channels_first" in said
    assert "mixed" not in said


def test_pieces_that_xla_has_fused_already_are_not_told():
    assert notes({"jit_compile": True}, unfused_normalization_ms=2.0) == []


def test_batch_normalization_in_pieces_is_told():
    (said,) = notes(unfused_normalization_ms=2.0)
    assert "takes 2 ms, 20% of a step, on the GPU, piece by piece" in said
    assert "jit_compile=True" in said
