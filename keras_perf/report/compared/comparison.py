"""compare: what a change bought."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from keras_perf.analyse.change import Change, examples_ratio, of_one_size, summary_change
from keras_perf.analyse.of_intervals.resampling import speedup_interval
from keras_perf.report.compared.advice_in_comparison import (
    WHOLE,
    AdviceTaken,
    advice_taken,
    predicted_and_measured,
)
from keras_perf.report.compared.comparison_bounds import about_bounds, not_as_it_seems
from keras_perf.report.compared.differing_settings import (
    Differing,
    differing_settings,
    tell_settings,
)
from keras_perf.report.compared.first_pass_in_comparison import steps_alike
from keras_perf.report.compared.saved_parts import of_steps, parts_table, saved_parts
from keras_perf.report.compared.whole_in_comparison import (
    about_the_whole,
    both_know_the_whole,
    of_the_same,
    whole_speedup,
    without_compiling,
)
from keras_perf.report.diagnosis import Diagnosis, diagnose
from keras_perf.report.text.forms import Form, Told
from keras_perf.report.text.html_form import Html, coloured

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Comparison(Told):
    """Two runs side by side.

    Attributes:
        speedup: how many times as fast `after` is, per example where both runs know their
            batch size, else per step.
        low, high: 90% interval of it, from resampling the runs' intervals.
        whole_speedup: the same with what lies between epochs, else equal to `speedup`, and with the
            start-up if both know it, of as many examples as `before` had.
        before, after: their diagnoses; without the first pass that fills a cache, where only one
            of them has measured it.
        left_out: a sentence on that; "" where nothing was left out.
    """

    speedup: float
    low: float
    high: float
    whole_speedup: float
    before: Diagnosis = field(repr=False)
    after: Diagnosis = field(repr=False)
    left_out: str = field(default="", repr=False)

    @property
    def change(self) -> Change:
        """How many times as long a step takes (an example, where `speedup` is per example).

        Its 98% interval counts that intervals close in time resemble each other, which
        `low` and `high` do not: a regression is judged by it.
        """
        return summary_change(self.before.summary, self.after.summary)

    @property
    def timed(self) -> str:
        """What `change` is of: `a step`, or `an example` where batches differ in size."""
        same = of_one_size(self.before.summary, self.after.summary)
        return "a step" if same else "an example"

    def to_frame(self) -> pd.DataFrame:
        """A row a part: `part`, `before_ms`, `after_ms`, `saved_ms`, `low`, `high`, per step.

        `low` and `high` are the 90% interval of `saved_ms`: of a thousand times that both runs'
        intervals are drawn anew, the 5th and the 95th percentile of before − after (source:
        `keras_perf.analyse.of_intervals.resampling`). Where it holds 0, the change may be chance.

        A part that only one of them measured is NaN in the other, whose compute holds it; what
        compute saved then counts both together. Of single steps dispatch is known by trials of a
        few executions: neither it nor compute has an interval then. After those of the step come
        the step itself and what lies between epochs, per step too; the latter has no interval.

        What the intervals cannot see: what differs from run to run, such as another load on the
        machine.
        """
        return saved_parts(self.before, self.after)

    def _repr_html_(self) -> str:
        bars = [coloured(each.breakdown) for each in (self.before, self.after)]
        return str(self._told(Html(bars)))

    def plot(self) -> Figure:
        """A figure: the parts of a step before and after."""
        from keras_perf.showing.figures import empty, stacks

        figure, axes = empty(2, self.headline)
        runs = {"before": self.before, "after": self.after}
        stacks(axes, {name: coloured(run.breakdown) for name, run in runs.items()})
        return figure

    def _told(self, form: Form) -> Form:
        form.title(self.headline)
        form.table(*self.parts_table())
        if self.before.recommendations:
            form.table(*self.advice_table())
        tell_settings(form, self.settings)
        form.paragraph(self.closing)
        return form

    @property
    def headline(self) -> str:
        """How much faster the training is, then its step, and both verdicts."""
        bounds = f"({self.low:.2f}–{self.high:.2f})"
        told = f"{self.timed.capitalize()} is {self.speedup:.2f}× as fast {bounds}"
        if self.whole_measured:
            told = (
                f"The whole training is {self.whole_speedup:.2f}× as fast, "
                f"{self.timed}{self._compiling} {self.speedup:.2f}× {bounds}"
            )
        return f"{told}: {self.before.verdict} before, {self.after.verdict} after"

    @property
    def _compiling(self) -> str:
        runs = self.before.summary, self.after.summary
        return " with its compiling" if without_compiling(*runs) else ""

    @property
    def whole_measured(self) -> bool:
        """Whether both runs measured what lies between epochs."""
        return both_know_the_whole(self.before.summary, self.after.summary)

    def parts_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of what a reader is shown of `to_frame`."""
        return parts_table(self.to_frame())

    @property
    def advice(self) -> tuple[AdviceTaken, ...]:
        """What became of each recommendation of `before`."""
        return advice_taken(self.before, self.after)

    def advice_frame(self) -> pd.DataFrame:
        """A row a recommendation of `before`.

        Columns: `id`, `title`, `taken` (`after` no longer gives it, or shows the number that was
        advised; None where `after` cannot show it), `predicted` (alone, or once those above are
        done), `tried` (`predicted` was measured on trial), `of` (`step` or `whole`), `measured`
        (of everything that changed).
        """
        measured = {"step": self.speedup, "whole": self.whole_speedup}
        rows = [
            {
                "id": each.advice.id,
                "title": each.advice.title,
                "taken": each.taken,
                "predicted": each.predicted,
                "tried": each.advice.tried,
                "of": each.advice.of,
                "measured": measured[each.advice.of],
            }
            for each in self.advice
        ]
        columns = ["id", "title", "taken", "predicted", "tried", "of", "measured"]
        return pd.DataFrame(rows, columns=columns)

    def advice_table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of what a reader is shown of `advice_frame`."""
        faster = {"step": "the step", "whole": WHOLE}
        rows = [
            [each.advice.title, str(each), each.gain, faster[each.advice.of]]
            for each in self.advice
        ]
        return ["recommended before", "after", "predicted", "faster"], rows

    @property
    def settings(self) -> list[Differing]:
        """Settings, versions and machine in which the runs differ, as far as they are recorded."""
        return differing_settings(self.before.summary.facts, self.after.summary.facts)

    def settings_frame(self) -> pd.DataFrame:
        """A row a setting that differs: `setting`, `before`, `after`, as a reader is shown them.

        None is what was not set, or is not known.
        """
        return pd.DataFrame(self.settings, columns=Differing._fields, dtype=object)

    @property
    def _measured(self) -> dict[str, float]:
        """By what advice is on."""
        whole = {WHOLE: self.whole_speedup} if self.whole_measured else {}
        return {**whole, self.timed: self.speedup}

    @property
    def closing(self) -> str:
        """What was predicted of all beside what was measured, and what the bounds rest on."""
        runs = self.before.summary, self.after.summary
        told = (
            "" if self.timed == "a step" else of_steps(*runs),
            *not_as_it_seems(self.before, self.after),
            predicted_and_measured(self.before, self.advice, self._measured),
            self.left_out,
            *about_the_whole(*runs, self.whole_speedup, (self.low, self.high)),
            *about_bounds(*runs, self.change, self.timed, (self.low, self.high)),
        )
        return " ".join(filter(None, told))


def compare(before: str | os.PathLike[str], after: str | os.PathLike[str]) -> Comparison:
    """How much faster the newest `fit` under `after` is than the newest under `before`.

    Of each directory it is the newest that measured steps.

    Arguments:
        before: log directory of the earlier run.
        after: log directory of the later one.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
        ValueError: a directory holds several runs, or a run measured no step.

    What it cannot see: whether the machine was equally busy in both.
    """
    first, second = diagnose(before), diagnose(after)
    for name, path, diagnosis in (("before", before, first), ("after", after, second)):
        if not diagnosis.summary.steps:
            wanted = f"{name} must hold a run with measured steps, {os.fspath(path)!r} has none"
            raise ValueError(f"{wanted}: {diagnosis.explanation}")
    return comparison_of(first, second)


def comparison_of(first: Diagnosis, second: Diagnosis) -> Comparison:
    """The comparison of two runs with measured steps."""
    first, second = of_the_same(first, second)
    per_example, whole = examples_ratio(first.summary, second.summary), None
    if both_know_the_whole(first.summary, second.summary):
        whole = whole_speedup(first.summary, second.summary)
    first, second, left_out = steps_alike(first, second)
    before, after = first.summary, second.summary
    speedup = per_example * before.step_ms / after.step_ms
    low, high = (per_example * x for x in speedup_interval(before.intervals, after.intervals))
    return Comparison(speedup, low, high, whole or speedup, first, second, left_out)
