"""What the trace of a GPU shows that a step need not spend."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import in_ms, in_percent, in_us
from keras_perf.records.run.library import library_of

WORTH_SAYING = 0.05
"""Share of a step."""

LAUNCHING = 0.2
"""Share of a traced step: the profiler makes launching itself longer."""

MANY_KERNELS, SHORT_MS = 50, 0.05
"""A device that runs shorter kernels may wait for the host: in public traces of Keras (2021, 150
kernels a step of 0.005 ms each) 0.09 ms of the host's time went into each."""

NEARLY_BUSY = 0.7
"""Share of a step without a profiler in which kernels run."""

_VOLTA, _AMPERE = (7, 0), (8, 0)
"""Compute capability from which on TensorFlow's layout optimizer keeps channels last in bfloat16;
in float16 from (7, 0) on; not in a training in float32 (generic_layout_optimizer.cc)."""


def gpu_trace_notes(run: Diagnosed) -> Iterator[str]:
    """A sentence or two on each part that is worth it, with what would save it.

    What it cannot see: how much faster training would be, and what XLA has fused.
    """
    summary = run.summary
    if summary.trace.get("kernel_ms") and summary.step_ms > 0:
        yield from filter(None, (look(summary) for look in _LOOKS))


def layout_changed(summary: Summary) -> str | None:
    """Kernels that only transpose between channels last and channels first."""
    took = summary.trace.get("layout_change_ms", 0.0)
    if took < WORTH_SAYING * summary.step_ms:
        return None
    return (
        f"Bringing images from channels last to channels first and back takes {_of(took, summary)} "
        f"on the GPU. {_one_layout(summary)}"
    )


def _one_layout(summary: Summary) -> str:
    facts = summary.facts
    gpu = facts.training_gpu
    capability = _VOLTA if gpu is None else gpu.compute_capability
    channels_first = (
        'keras.config.set_image_data_format("channels_first") has all of the model as they want it.'
    )
    if not library_of(facts).has_layout_optimizer:
        return f"cuDNN wants them channels first: {channels_first}"
    if capability < _VOLTA:
        return f"TensorFlow computes convolutions channels first on this GPU: {channels_first}"
    if (facts.settings.dtype_policy or "float32") != "float32":
        return (
            'Channels last (data_format="channels_last") throughout the model needs none of it in '
            "mixed precision."
        )
    policy = "mixed_bfloat16" if capability >= _AMPERE else "mixed_float16"
    if policy == "mixed_float16" and facts.settings.several_in_fit:
        return f"In float32 TensorFlow computes convolutions channels first: {channels_first}"
    return (
        "In float32 TensorFlow computes convolutions channels first: "
        f'keras.mixed_precision.set_global_policy("{policy}") keeps them channels last, and '
        f"{channels_first}"
    )


def normalization_unfused(summary: Summary) -> str | None:
    """Batch normalization in a dozen kernels, each of which reads all of its input."""
    took = summary.trace.get("unfused_normalization_ms", 0.0)
    settings = summary.facts.settings
    if settings.jit_compile or took < WORTH_SAYING * summary.step_ms:
        return None
    may_help = summary.facts.xla_may_help
    remedy = " jit_compile=True lets XLA fuse the pieces." if may_help else ""
    return (
        f"Batch normalization takes {_of(took, summary)} on the GPU, piece by piece: Keras 3 has "
        f"no fused one on TensorFlow.{remedy}"
    )


def bound_by_launches(summary: Summary) -> str | None:
    """The device runs many short kernels and waits for the next ones in between."""
    trace = summary.trace
    waits, traced = trace.get("waits_for_launch_ms", 0.0), trace.get("step_time_ms", 0.0)
    kernels, mean_ms = trace.get("kernels", 0.0), trace.get("kernel_mean_ms", 0.0)
    many_short = kernels >= MANY_KERNELS and mean_ms <= SHORT_MS
    nearly_busy = trace["kernel_ms"] > NEARLY_BUSY * summary.step_ms
    if not many_short or nearly_busy or not waits > LAUNCHING * traced > 0:
        return None
    return (
        f"The GPU waits for the host to launch kernels for {in_ms(waits)} of each traced step of "
        f"{in_ms(traced)}: it runs {kernels:.0f} kernels a step, {in_us(mean_ms)} each. "
        f"{_fewer_waits(summary)} (The profiler lengthens launching.)"
    )


def _fewer_waits(summary: Summary) -> str:
    """What is not done yet."""
    remedy = "A larger batch makes them longer."
    if summary.facts.xla_may_help:
        remedy = "jit_compile=True makes them fewer, a larger batch longer."
    has_it = summary.facts.machine.gpu_thread_mode == "gpu_private"
    if has_it or not library_of(summary.facts).has_thread_settings:
        return remedy
    return (
        f"{remedy} TF_GPU_THREAD_MODE=gpu_private keeps the input pipeline from the threads that "
        "launch."
    )


def operations_on_cpu(summary: Summary) -> str | None:
    """The device waits for operations of the step that run on the CPU."""
    waits = summary.trace.get("waits_for_cpu_operation_ms", 0.0)
    traced = summary.trace.get("step_time_ms", 0.0)
    if not waits > WORTH_SAYING * traced > 0:
        return None
    longest = summary.facts.operations_on_cpu
    names = ", ".join(f"{name} {in_ms(ms)}" for name, ms in list(longest.items())[:3])
    mostly = f" ({names})" if names else ""
    return (
        f"The GPU waits for operations of the step that run on the CPU{mostly} for {in_ms(waits)} "
        f"of each traced step of {in_ms(traced)}. Move them into the input pipeline, or use ones "
        "that run on a GPU: not on strings, nor in tf.py_function, tf.numpy_function or "
        "tf.device('/CPU:0'). tf.debugging.set_log_device_placement(True) tells where each runs."
    )


def _of(took_ms: float, summary: Summary) -> str:
    return f"{in_ms(took_ms)}, {in_percent(took_ms / summary.step_ms)} of a step,"


_LOOKS: tuple[Callable[[Summary], str | None], ...] = (
    bound_by_launches,
    operations_on_cpu,
    layout_changed,
    normalization_unfused,
)
