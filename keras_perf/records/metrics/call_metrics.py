"""What is logged of evaluations and predictions; `<call>` is validation, evaluate or predict."""

from __future__ import annotations

from keras_perf.records.metrics.metric import Metric

CALL_METRICS = (
    Metric(
        "<call>/step_time_ms",
        "ms",
        "One batch of a validation, `evaluate` or `predict` with our callbacks: the call's time "
        "divided by its batches.",
        "What lies before the call's begin hook and after its end hook, such as making a dataset "
        "of arrays.",
    ),
    Metric(
        "<call>/<part>_ms",
        "ms",
        "Its parts per batch, as a step's, and starting: until the first execution.",
        "As perf/<part>_ms.",
    ),
    Metric(
        "<call>/examples_per_sec",
        "1/s",
        "Examples per second of the whole call.",
        "Absent where a custom test step counts them in another way.",
    ),
)
