"""Figures of a diagnosis and of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from matplotlib.figure import Figure

from keras_perf.advise.recommendation import Recommendation
from keras_perf.records.figures import in_ms
from keras_perf.report.text.html_form import coloured
from keras_perf.showing.figures import Gain, empty, stacks

if TYPE_CHECKING:
    from collections.abc import Sequence


class Diagnosed(Protocol):
    """What is drawn of a `Diagnosis`."""

    @property
    def verdict(self) -> str:
        """What it is bound by."""

    @property
    def breakdown(self) -> Mapping[str, float]:
        """Milliseconds per step by part, and of the step."""

    @property
    def recommendations(self) -> Sequence[Recommendation]:
        """Best first."""


def diagnosis_figure(diagnosis: Diagnosed) -> Figure:
    """The parts of a step, and the step that each advice predicts."""
    step_ms = diagnosis.breakdown["step"]
    estimates = [
        Gain(each.id, step_ms / each.predicted_speedup, step_ms / each.high, step_ms / each.low)
        for each in diagnosis.recommendations
        if each.of == "step" and each.speedup_after_others is None
    ]
    of = f": a step of {in_ms(step_ms)}" if step_ms > 0 else ""
    title = f"{diagnosis.verdict}{of}"
    figure, axes = empty(1 + len(estimates), title)
    stacks(axes, {"as it is": coloured(diagnosis.breakdown)}, estimates)
    return figure


def comparison_figure(title: str, before: Diagnosed, after: Diagnosed) -> Figure:
    """The parts of a step, before above after."""
    figure, axes = empty(2, title)
    bars = {"before": coloured(before.breakdown), "after": coloured(after.breakdown)}
    stacks(axes, bars)
    return figure
