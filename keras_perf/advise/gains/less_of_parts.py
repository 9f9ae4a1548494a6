"""What a change takes away, of several parts of a step in turn."""

from __future__ import annotations

from collections.abc import Iterable

from keras_perf.advise.step.step_model import StepModel


def less_of(model: StepModel, parts: Iterable[str], gone_ms: float) -> StepModel:
    """Of the first part as much as there is, then of the next, until so many milliseconds went."""
    for part in parts:
        if ms := model.rest.get(part, 0.0):
            less_ms = min(ms, gone_ms)
            model, gone_ms = model.with_rest({part: 1 - less_ms / ms}), gone_ms - less_ms
    return model
