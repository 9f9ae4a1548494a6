"""Everything that is logged: name, tag, unit, meaning and blind spot, in one table.

The writer's tags, the frames' columns, the custom-scalars layout and the README's list come
from here, so they cannot drift apart.
"""

from __future__ import annotations

from keras_perf.records.metrics.call_metrics import CALL_METRICS
from keras_perf.records.metrics.gpu_metrics import ALLOCATED_METRICS, GPU_METRICS
from keras_perf.records.metrics.host_metrics import DISK_AND_NETWORK_METRICS, HOST_METRICS
from keras_perf.records.metrics.metric import Metric
from keras_perf.records.metrics.trace_metrics import CAPTURE_METRICS, TRACE_METRICS
from keras_perf.records.run.times.outlier import CAUSES

CONTEXT_TAG = "perf/context"
"""Where the record of all that is not a scalar is kept."""

KEPT = "kept/"
"""Before the tag of a figure that is written for our reader and that TensorBoard does not plot."""

STEPS, STEP_MS = "perf/interval_steps", "perf/step_time_ms"
"""Without either of them nothing of an interval can be used."""


STEP_METRICS = (
    Metric(
        "perf/step_time_ms",
        "ms",
        "Mean time from one step's begin to the next, over the interval.",
        "Excludes warm-up, profiled and trial executions, validation and epoch boundaries.",
    ),
    Metric(
        "perf/input_wait_ms",
        "ms",
        "Part of a step spent waiting in the iterator's GetNext; of a PyDataset with workers, for "
        "their next batch.",
        "Needs tf.data's autotune (its default), or such workers and one step per execution; "
        "absent without, and then inside compute. With several steps per execution, what computing "
        "hides of a late batch is the median of the executions.",
    ),
    Metric(
        "perf/compute_ms",
        "ms",
        "Part of a step inside the train function, less input wait and dispatch; "
        "includes the wait for the device while logs are read.",
        "Does not tell the device's work from the runtime's where dispatch is not measured.",
    ),
    Metric(
        "perf/dispatch_ms",
        "ms",
        "Part of a step that entering and leaving the train function costs; "
        "steps_per_execution=N divides it by N.",
        "Measured only by the recommender's trials, or with three or more steps per execution of "
        "20 ms at most.",
    ),
    Metric(
        "perf/callbacks_ms",
        "ms",
        "Part of a step spent in callbacks' batch hooks.",
        "A callback that hands work to another thread shows only the handing over.",
    ),
    Metric(
        "perf/other_host_ms",
        "ms",
        "Part of a step in Keras's own loop between executions.",
        "Includes the observer's own microseconds.",
    ),
    Metric(
        "perf/compile_ms",
        "ms",
        "Part of a step spent on tracing and compiling after warm-up, spread over the interval.",
        "TensorFlow tells of none without a retrace: inferred from their length if shapes differ.",
    ),
    Metric(
        "perf/garbage_collection_ms",
        "ms",
        "Pauses of Python's garbage collector per step; they lie inside the other parts.",
        "Only those that the training thread had to wait for.",
    ),
    Metric(
        "perf/steps_per_sec",
        "1/s",
        "Optimizer steps per second of training time.",
        "Training only: validation and epoch boundaries are outside.",
    ),
    Metric(
        "perf/examples_per_sec",
        "1/s",
        "Training examples per second of training time.",
        "Needs the model's loss metric, whose count it reads.",
    ),
    Metric(
        "perf/interval_steps",
        "steps",
        "Number of steps that the interval's figures are means of.",
        "Smaller than the distance between two points where steps were left out.",
    ),
)

OWNER_METRICS = (
    Metric(
        "perf_callbacks/<owner>_ms",
        "ms",
        "Time per step in one callback's hook.",
        "As perf/callbacks_ms.",
    ),
)

EXCHANGE_METRICS = (
    Metric(
        "perf/communication_ms",
        "ms",
        "Part of compute in which gradients are exchanged among workers: from handing them over "
        "until their sum is there.",
        "Measured by the graph's clock on a CPU; absent on GPUs, where a trace shows the "
        "collectives.",
    ),
    Metric(
        "perf/peer_wait_ms",
        "ms",
        "Part of communication spent waiting for the worker that was busy longest; the rest is "
        "the exchange itself.",
        "From durations, without comparing clocks: it misses that some workers get the last sum "
        "earlier.",
    ),
    Metric(
        "perf/skew_ms",
        "ms",
        "How much longer than the mean of all the slowest worker of each step is busy.",
        "Chance counts too: perf/slowest_worker shows whether it is always the same worker.",
    ),
    Metric(
        "perf/slowest_worker",
        "worker",
        "Number of the worker that was busy longest over the interval.",
        "By however little.",
    ),
)

OUTSIDE_METRICS = (
    Metric(
        "perf_between_epochs/validation_ms",
        "ms",
        "Validation after an epoch, with its callbacks and the making of its input pipeline.",
    ),
    Metric(
        "perf_between_epochs/callbacks_ms",
        "ms",
        "Callbacks' epoch hooks between two epochs.",
        "As perf/callbacks_ms.",
    ),
    Metric(
        "perf_between_epochs/rest_ms",
        "ms",
        "The rest of the time between two epochs' executions: Keras's own work, a new iterator, "
        "the end of the last one.",
        "The new iterator's first batch counts as input wait.",
    ),
)

EVENT_METRICS = tuple(
    Metric(
        cause.tag,
        "ms",
        f"Time beyond the usual length of an execution or pause. {meaning}",
        "Judged by median and MAD of the executions around it.",
    )
    for cause, meaning in CAUSES.items()
)

TRIAL_METRICS = (
    Metric(
        "steps_per_execution/recommended_steps",
        "steps",
        "The number that the recommender's trials lead to.",
        "Holds for the machine and its load at the time of the trials.",
    ),
    Metric(
        "steps_per_execution/predicted_speedup_ratio",
        "ratio",
        "What setting it gains: step time now divided by step time then.",
        "As steps_per_execution/recommended_steps.",
    ),
    Metric(
        "steps_per_execution/in_graph_ms",
        "ms",
        "c of T(N) = c + h / N: a step inside the graph.",
        "Includes input wait.",
    ),
    Metric(
        "steps_per_execution/per_execution_ms",
        "ms",
        "h of T(N) = c + h / N: what each execution costs once.",
        "Includes callbacks and Keras's loop.",
    ),
    Metric(
        "batch_size/step_time_ms",
        "ms",
        "A step of this batch size, as sweep_batch_size measured it; the axis is the batch size.",
        "Its batch was ready: what the input takes is not in it.",
    ),
    Metric(
        "batch_size/examples_per_sec",
        "1/s",
        "Examples per second at this batch size; the axis is the batch size.",
        "As batch_size/step_time_ms.",
    ),
    Metric(
        "batch_size/peak_mib",
        "MiB",
        "Peak of memory that training took at this batch size; the axis is the batch size.",
        "On a CPU resident memory beyond what the process held before it trained.",
    ),
)

METRICS = (
    STEP_METRICS
    + OWNER_METRICS
    + EXCHANGE_METRICS
    + OUTSIDE_METRICS
    + CALL_METRICS
    + EVENT_METRICS
    + TRIAL_METRICS
    + CAPTURE_METRICS
    + TRACE_METRICS
    + HOST_METRICS
    + DISK_AND_NETWORK_METRICS
    + GPU_METRICS
    + ALLOCATED_METRICS
)


def metrics_markdown() -> str:
    """The table as Markdown, for the README and the Text tab."""
    rows = "\n".join(
        f"| `{m.tag}` | {m.unit} | {m.meaning} | {m.blind_spot or '–'} |" for m in METRICS
    )
    return f"| tag | unit | meaning | cannot see |\n|---|---|---|---|\n{rows}\n"
