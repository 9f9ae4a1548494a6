"""diagnose: from a log directory to a Diagnosis."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from keras_perf.advise.notes.all_notes import notes_of
from keras_perf.advise.notes.devices.gpu_use import gpu_details, gpu_use_alerts
from keras_perf.advise.notes.devices.roofline import roofline_notes
from keras_perf.advise.notes.diagnosed import Diagnosed
from keras_perf.advise.notes.fits import called_often, fit_notes, passed_over
from keras_perf.advise.notes.inference import notes_on_calls
from keras_perf.advise.notes.memory.ending import ending_notes
from keras_perf.advise.notes.reliability.contention import load_of_others
from keras_perf.advise.notes.reliability.not_measured import why_no_step
from keras_perf.advise.notes.reliability.trace import trace_details
from keras_perf.advise.notes.trials import pair_notes
from keras_perf.advise.recommendation import Recommendation
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.best_first import combined_speedup, recommendations
from keras_perf.advise.situation import situation_of
from keras_perf.advise.verdict.because import Because
from keras_perf.advise.verdict.reasons import mostly_outside
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.advise.what_is_left import what_is_left
from keras_perf.analyse.hardware.efficiency import Efficiency, efficiency_of
from keras_perf.analyse.summary import ENOUGH_STEPS, Summary
from keras_perf.analyse.training import Training, newest_training
from keras_perf.records.interval import PARTS
from keras_perf.records.rates import Rates
from keras_perf.records.run.times.outlier import Outlier
from keras_perf.report.text.efficiency_table import EFFICIENCY, HEADER, efficiency_rows
from keras_perf.report.text.forms import Form, Told
from keras_perf.report.text.gain import gain_of
from keras_perf.report.text.html_form import Html, coloured
from keras_perf.report.text.measured_tables import measured_tables
from keras_perf.report.text.parts_table import PARTS_TITLE, parts_table

NO_RATES = Rates()


@dataclass(frozen=True)
class Diagnosis(Told):
    """Where the time goes, why, and what to do.

    Attributes:
        verdict: `input-bound`, `callback-bound`, `dispatch-bound`, `compile-bound`,
            `eager-bound`, `communication-bound`, `compute-bound` or `inconclusive`.
        explanation: the sentence behind it, and what other processes' CPU load does to it.
        breakdown: milliseconds per step by part; the parts that were measured add up to `step`.
            One that could not be measured is NaN, is named in `notes`, and lies in `compute`.
        recommendations: best first.
        combined_speedup: what all of them buy a step together: expected, low, high.
        combined_whole_speedup: the same for the whole training, with what lies between epochs.
        notes: what the reader should know about the figures.
        details: how they were measured, which few need to know; `with_details` shows them.
        alerts: what comes before all else, as a GPU that is not used; mostly empty.
        summary: what was measured.
        efficiency: FLOPs and model FLOPs utilization, memory traffic, energy and prices.
        ending: those of `notes` that tell how training ended, where it did not end well.
        newer: those that tell of newer fits, which have nothing to show.
        because: the verdict's own sentences, with which `explanation` begins.
    """

    verdict: str
    explanation: str
    breakdown: Mapping[str, float]
    recommendations: tuple[Recommendation, ...]
    combined_speedup: tuple[float, float, float]
    notes: tuple[str, ...]
    summary: Summary = field(repr=False)
    combined_whole_speedup: tuple[float, float, float] = (1.0, 1.0, 1.0)
    alerts: tuple[str, ...] = ()
    efficiency: Efficiency = field(default_factory=Efficiency)
    details: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()
    because: Because = field(default=Because(""), repr=False)

    @property
    def events(self) -> tuple[Outlier, ...]:
        """The longest steps and pauses, worst first."""
        return self.summary.facts.outliers.events

    def to_frame(self) -> pd.DataFrame:
        """A row a part: `part`, `ms_per_step`, `share` of the step (0 to 1).

        A part that was not measured is NaN.
        """
        rows = [(part, self.breakdown[part], self._share(part)) for part in PARTS]
        return pd.DataFrame(rows, columns=["part", "ms_per_step", "share"])

    def _share(self, part: str) -> float:
        step = self.breakdown["step"]
        return self.breakdown[part] / step if step else 0.0

    def with_details(self) -> Diagnosis:
        """The same with its details among the notes."""
        return replace(self, notes=(*self.notes, *self.details), details=())

    def _repr_html_(self) -> str:
        return str(self._told(Html([coloured(self.breakdown)])))

    def plot(self) -> Any:
        """A matplotlib figure: a step's parts, and a step with each advice that shortens it."""
        from keras_perf.report.figures import diagnosis_figure

        return diagnosis_figure(self.verdict, self.breakdown, self.recommendations)

    def _told(self, form: Form) -> Form:
        for alert in self.alerts:
            form.paragraph(alert)
        form.verdict(self.verdict, self.explanation)
        for place, advice in enumerate(self.recommendations, 1):
            title = f"{place}. {advice.title}"
            form.advice(title, advice.id, gain_of(advice), advice.reason, advice.action)
        form.paragraph(self.closing)
        if not self.summary.facts.calls_only:
            form.table(*parts_table(self.breakdown), PARTS_TITLE)
        for title, header, rows in measured_tables(self.summary):
            form.table(header, rows, title)
        if rows := efficiency_rows(self.efficiency):
            form.table(HEADER, rows, EFFICIENCY)
        form.notes(self.notes)
        return form

    @property
    def closing(self) -> str:
        """What to do with the recommendations, or why there are none."""
        if self.summary.facts.calls_only:
            return "Recommendations with a predicted gain are given for training only."
        if not self.summary.steps:
            return "Without a measured step there are no recommendations."
        if self.summary.steps < ENOUGH_STEPS:
            return "There are too few steps for recommendations: train longer."
        if not self.recommendations:
            return "No change is predicted to gain 2% or more."
        advice = "Change it, train again, and compare: keras-perf compare BEFORE AFTER."
        if len(self.recommendations) == 1 or not self.predicted_together:
            return advice
        together = [
            f"{what} {{:.2f}}× ({{:.2f}}–{{:.2f}})".format(*gain)
            for what, gain in self.predicted_together.items()
        ]
        return (
            f"All together: {', '.join(together)}, which is not the product of the single gains. "
            f"{advice}"
        )

    @property
    def predicted_together(self) -> dict[str, tuple[float, float, float]]:
        """What all advice together is to buy, of what: expected, low, high.

        The whole training comes first, where what lies between epochs was measured; a step is
        left out where no advice is on it, or one is on compiling, which no steady step does. What
        was measured by itself is in neither.
        """
        together = {}
        of = {each.of for each in self.recommendations if not each.alone}
        if "whole" in of or (of and self.summary.outside):
            together["the whole training"] = self.combined_whole_speedup
        compiling = any(known_of(each.id).on == "compiling" for each in self.recommendations)
        if "step" in of and not compiling:
            together["a step"] = self.combined_speedup
        return together


def diagnose(
    log_dir: str | os.PathLike[str],
    *,
    fit: str | int | None = None,
    price_per_kwh: float | None = None,
    price_per_hour: float | None = None,
    matmul_flops_per_sec: float | None = None,
) -> Diagnosis:
    """The diagnosis of the newest `fit` under `log_dir` that measured steps, or of another one.

    Returns:
        A `Diagnosis`; print it, or use `.verdict`, `.breakdown`, `.recommendations`.

    Arguments:
        log_dir: the directory given to the callbacks.
        fit: id or sequence of the `fit` to show, as `list_fits` has them.
        price_per_kwh: of electricity, for what the GPUs' energy of an epoch costs.
        price_per_hour: of all that trains together, for what the time of an epoch costs.
        matmul_flops_per_sec: what `benchmark_matmul` measured, to compare the model's
            multiplications with.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there, or it cannot be read.
        TypeError: a price or rate is no number.
        ValueError: one is not above 0; several runs are there, name one; there is no such `fit`.

    Source of the predictions: the model in `keras_perf.advise.step.step_model`. What they cannot
    see: what a change does to caches, memory bandwidth and thread contention.
    """
    rates = Rates(price_per_kwh, price_per_hour, matmul_flops_per_sec)
    return diagnosis_of_training(newest_training(log_dir, fit), rates)


def diagnosis_of_training(training: Training, rates: Rates) -> Diagnosis:
    """The diagnosis of what was measured, with notes on the other fits of its directory."""
    found = diagnosis_of(training.summary(), rates)
    ending, often = tuple(ending_notes(training)), called_often(training, found.summary)
    notes = *ending, *often, *fit_notes(training), *found.notes
    return replace(found, notes=notes, ending=ending, newer=tuple(passed_over(training)))


def diagnosis_of(summary: Summary, rates: Rates = NO_RATES) -> Diagnosis:
    """The diagnosis of what was measured."""
    alerts = tuple(gpu_use_alerts(summary))
    if not summary.steps:
        step = dict.fromkeys((*PARTS, "step"), math.nan)
        why = why_no_step(summary.facts)
        told = (*pair_notes(summary.facts), *notes_on_calls(summary))
        one = 1.0, 1.0, 1.0
        return Diagnosis("inconclusive", why, step, (), one, told, summary, one, alerts)
    situation = situation_of(summary)
    verdict, because = verdict_of(situation)
    advice = recommendations(situation) if summary.steps >= ENOUGH_STEPS else ()
    efficiency = efficiency_of(summary, rates)
    notes = notes_of(Diagnosed(situation, verdict, {each.id for each in advice}))
    explanation = (
        str(because),
        what_is_left(situation, verdict, advice),
        mostly_outside(situation),
        load_of_others(situation),
    )
    return Diagnosis(
        verdict,
        " ".join(filter(None, explanation)),
        summary.breakdown,
        advice,
        combined_speedup(situation, advice),
        (*notes, *roofline_notes(efficiency, summary.facts)),
        summary,
        combined_speedup(situation, advice, "whole"),
        alerts,
        efficiency,
        (*trace_details(summary.facts), *gpu_details(summary.facts)),
        because=because,
    )
