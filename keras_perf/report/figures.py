"""The figure of a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from keras_perf.advise.recommendation import Recommendation
from keras_perf.records.figures import in_ms
from keras_perf.report.text.html_form import coloured
from keras_perf.showing.figures import Gain, empty, stacks


def diagnosis_figure(
    verdict: str, breakdown: Mapping[str, float], advice: Sequence[Recommendation]
) -> Figure:
    """The parts of a step, and the step that each advice predicts."""
    step_ms = breakdown["step"]
    estimates = [
        Gain(each.id, step_ms / each.predicted_speedup, step_ms / each.high, step_ms / each.low)
        for each in advice
        if each.of == "step" and each.speedup_after_others is None
    ]
    of = f": a step of {in_ms(step_ms)}" if step_ms > 0 else ""
    figure, axes = empty(1 + len(estimates), f"{verdict}{of}")
    stacks(axes, {"as it is": coloured(breakdown)}, estimates)
    return figure
