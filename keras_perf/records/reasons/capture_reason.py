"""What starts a capture."""

from __future__ import annotations

from keras_perf.records.reasons.reason import Words


class CaptureReason(Words):
    """The schedule, or a trigger."""

    SCHEDULE = "schedule"
    EVERY = "every {every_s:g} s"
    SLOW_STEP = "step {step} took {excess_ms} longer than usual"
    SLOW_STEPS = "steps take {step_ms}, {times:.2f} times the usual"
    SHAPES_DIFFER = "shapes differ: does XLA compile in nearly every step?"
    COMPUTE_VARIES = "steps compute for {times:.1f} times as long as the quickest tenth: for what?"
    TOUCHED = "{file} was touched"
    SIGNAL = "SIGUSR2"
