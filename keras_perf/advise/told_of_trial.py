"""Why another number of steps per execution was not tried or is not advised, beside the split."""

from __future__ import annotations

from keras_perf.analyse.summary import Summary
from keras_perf.observers.steps_trial.steps_to_try import LONG_STEP_MS
from keras_perf.records.figures import in_ms
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.records.run.tried.steps_trial import StepsTrial


def told_by(trial: StepsTrial, why: WhyNoSteps) -> bool:
    """Nothing was tried for this reason."""
    return getattr(trial.not_tried, "word", "") == why.word


def told_of_trial(trial: StepsTrial, summary: Summary) -> str:
    """Its reason; where steps seemed too long for a trial and are not, also what they take."""
    if not told_by(trial, WhyNoSteps.LONG_STEPS) or summary.step_ms >= LONG_STEP_MS:
        return trial.reason
    return (
        f"{trial.reason} Of the whole training a step takes {in_ms(summary.step_ms)}, which is "
        "not too long: train again to have it tried."
    )
