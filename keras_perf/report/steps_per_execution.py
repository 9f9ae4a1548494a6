"""What a notebook shows of the number of steps per execution that is recommended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from keras_perf.records.figures import in_form
from keras_perf.records.run.tried.steps_trial import StepsTrial
from keras_perf.showing import html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEADS = ("steps per execution", "measured, ms per step", "predicted, ms per step")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsPerExecution(StepsTrial):
    """What `StepsPerExecutionRecommender.recommendation` returns.

    Attributes:
        steps_per_execution: the number to set; the present one, if no other is better.
        predicted_speedup: of a step, by that number; with `low` and `high`, its 90% interval.
        present: steps per execution that training ran with.
        applied: the number was set during training.
        reason: why this number.
        not_tried: why nothing was tried; empty if something was.
        evidence: the figures behind it, milliseconds in those that end in `_ms`, seconds in `_s`.
    """

    @classmethod
    def of(cls, trial: StepsTrial) -> StepsPerExecution:
        """The same figures."""
        return cls(**{each.name: getattr(trial, each.name) for each in fields(trial)})

    def plot(self) -> Figure:
        """Milliseconds per step over steps per execution, as a figure of matplotlib's.

        Empty where nothing was tried.
        """
        from keras_perf.showing.figures import empty

        drawn, axes = empty(4, self._headline)
        axes.set_xlabel("steps per execution")
        axes.set_ylabel("ms per step")
        if measured := self.measured_ms:
            axes.plot([*measured], [*measured.values()], "o", label="measured")
            axes.plot([n for n, _ in self.curve], [ms for _, ms in self.curve], label="predicted")
            number = self.steps_per_execution
            axes.axvline(number, color="C1", ls="--", label=f"{number} recommended")
            axes.set_xscale("log", base=2)
            axes.set_ylim(bottom=0)
            axes.legend()
        return drawn

    def _repr_html_(self) -> str:
        why = html.paragraph(self.reason[:1].upper() + self.reason[1:])
        return html.whole([html.heading(self._headline), why, self._table()])

    def _table(self) -> str:
        measured = self.measured_ms
        if not measured:
            return ""
        numbers = sorted({*measured, self.present, self.steps_per_execution})
        predicted = {n: self.predicted_ms(n) for n in numbers}
        rows = [[self._named(n), in_form(measured.get(n)), in_form(predicted[n])] for n in numbers]
        lengths = [measured.get(n) or predicted[n] or 0.0 for n in numbers]
        longest = max(lengths) or 1.0
        return html.table(_HEADS, rows, [each / longest for each in lengths])

    def _named(self, steps: int) -> str:
        tags = {"set": self.present, "recommended": self.steps_per_execution}
        return ", ".join([f"{steps:,}", *(tag for tag, n in tags.items() if n == steps)])

    @property
    def _headline(self) -> str:
        number = f"{self.setting}={self.steps_per_execution}"
        if self.steps_per_execution == self.present:
            return f"{number} stays"
        gain = f"{self.predicted_speedup:.2f}× ({self.low:.2f}–{self.high:.2f})"
        return f"{number}: a step {gain} as fast, predicted"
