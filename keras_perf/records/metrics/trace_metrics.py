"""What is logged of captures and their traces: a part of the table of metrics."""

from __future__ import annotations

from keras_perf.records.metrics.metric import Metric

CAPTURE_METRICS = (
    Metric(
        "capture/slowdown_ratio",
        "ratio",
        "Median step inside a profiler window over the median of the steps before it.",
        "Absent where no steady step came before; a window that slow steps began is compared "
        "with those steps.",
    ),
    Metric("capture/start_ms", "ms", "Time for which starting a capture blocked training."),
    Metric(
        "capture/stop_ms",
        "ms",
        "Time for which stopping and saving a capture blocked training.",
        "Grows with the number of recorded events.",
    ),
    Metric("capture/size_mib", "MiB", "Size of the trace."),
)

TRACE_METRICS = (
    Metric(
        "trace/step_time_ms",
        "ms",
        "Mean time from one traced step's begin to the next.",
        "Carries the profiler's own cost; the last traced execution is left out.",
    ),
    Metric(
        "trace/input_wait_ms",
        "ms",
        "Part of a traced step in the iterator's GetNext.",
        "Needs host_tracer_level 2.",
    ),
    Metric(
        "trace/execution_ms",
        "ms",
        "Part of a traced step in TensorFlow's runtime, less input wait.",
        "On a GPU the launching, not the device's work.",
    ),
    Metric(
        "trace/python_ms", "ms", "The rest of a traced step, from its marker's begin to its end."
    ),
    Metric(
        "trace/gap_ms",
        "ms",
        "From one traced execution to the next, per step.",
        "Includes waiting for the device while logs are read, validation and epoch ends.",
    ),
    Metric(
        "trace/compiled_ratio",
        "ratio",
        "Share of the traced steps in which XLA compiled.",
        "Absent where it compiled in none.",
    ),
    Metric(
        "trace/compile_ms",
        "ms",
        "Part of a traced step's execution until XLA's last compilation had ended.",
        "Lies in trace/execution_ms; what runs before a compilation counts.",
    ),
    Metric(
        "trace/retraced_ratio",
        "ratio",
        "Share of the traced steps in which TensorFlow traced a function.",
        "Absent where it traced none, and on JAX.",
    ),
    Metric(
        "trace/retracing_ms",
        "ms",
        "Python's part of the calls in a traced step for which a function was traced.",
        "Lies in trace/python_ms; making the new graph ready to run counts.",
    ),
    Metric(
        "trace/collective_ms",
        "ms",
        "Time in which a collective operation ran.",
        "Overlap with computing counts.",
    ),
    Metric(
        "trace/exchange_ms",
        "ms",
        "Time in which a GPU ran collectives and no other kernel, mean of the GPUs.",
        "With a single GPU in the trace it includes waiting for other workers.",
    ),
    Metric(
        "trace/exchange_wait_ms",
        "ms",
        "Part of trace/exchange_ms in which the mean GPU waits for the last one.",
        "GPUs of other hosts do not count.",
    ),
    Metric(
        "trace/gpu_<i>_computing_ms",
        "ms",
        "Time in which this one of several GPUs ran kernels that are no collectives.",
        "Only where collectives ran; i is the number in the trace.",
    ),
    Metric(
        "trace/kernel_ms",
        "ms",
        "Time in which at least one GPU kernel ran, mean of the GPUs.",
        "Counted in the step in whose time it ran.",
    ),
    Metric("trace/kernels", "kernels", "Number of GPU kernels per step.", "As trace/kernel_ms."),
    Metric("trace/kernel_mean_ms", "ms", "Mean length of a kernel."),
    Metric(
        "trace/kernel_launch_delay_ms",
        "ms",
        "Mean time from the launching call to the kernel's begin.",
        "Includes the time in the queue, which is long where the device is the bottleneck.",
    ),
    Metric("trace/copy_to_device_ms", "ms", "Time in which data was copied to the device."),
    Metric("trace/copy_to_host_ms", "ms", "Time in which data was copied from the device."),
    Metric(
        "trace/device_idle_in_step_ms",
        "ms",
        "Time within executions in which the device did nothing.",
        "As trace/kernel_ms.",
    ),
    Metric(
        "trace/device_idle_between_steps_ms",
        "ms",
        "Time between executions in which the device did nothing.",
        "As trace/kernel_ms.",
    ),
    Metric(
        "trace/waits_for_launch_ms",
        "ms",
        "Time in which the host executed a step and the device had nothing to do.",
        "Without waits for input and for operations on the CPU. The profiler lengthens launching.",
    ),
    Metric(
        "trace/waits_for_cpu_operation_ms",
        "ms",
        "Time in which an operation of the step ran on the CPU and the device did nothing.",
        "Needs host_tracer_level 2.",
    ),
    Metric(
        "trace/layout_change_ms",
        "ms",
        "Kernels that only bring data from channels last to channels first, or back.",
        "Told by names; not those that XLA fuses.",
    ),
    Metric(
        "trace/unfused_normalization_ms",
        "ms",
        "Kernels that are pieces of a batch normalization.",
        "Told by names; not those that XLA fuses.",
    ),
    Metric(
        "trace/tensor_core_eligible_pct",
        "%",
        "Share of kernel time that tensor cores could do.",
        "Told by the names of operations.",
    ),
    Metric(
        "trace/tensor_core_pct",
        "%",
        "Share of kernel time that used tensor cores.",
        "Told by the names of kernels; those that XLA makes with Triton have none that tells.",
    ),
)
