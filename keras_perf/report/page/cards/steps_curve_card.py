"""What other numbers of steps per execution cost, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.figures import in_form
from keras_perf.records.run.tried.steps_trial import StepsTrial
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import with_meaning
from keras_perf.report.page.plots.curve import curve_keys, curve_plot
from keras_perf.report.run_report import RunReport

CAPTION = "Milliseconds per step; the curve is c + h / N, through what was measured."


def steps_curve_card(report: RunReport) -> Element | None:
    """The measured times, and the curve through them; None where nothing was tried."""
    trial = report.summary.facts.trial
    if trial is None or not trial.trials or len(trial.trials) < 2:
        return None
    measured = trial.measured_ms
    rows: list[list[str | Element]] = [
        [_named(n, trial), in_form(trial.predicted_ms(n)), in_form(measured.get(n))]
        for n in sorted({*measured, trial.present, trial.steps_per_execution})
    ]
    number = with_meaning(
        "steps per execution", "steps_per_execution/recommended_steps", "steps per execution"
    )
    return card(
        "Steps per execution, tried",
        element("p", trial.reason[:1].upper() + trial.reason[1:]),
        element("figure", *_curve(trial)),
        table([number, "predicted, ms", "measured, ms"], rows, CAPTION),
    )


def _named(steps: int, trial: StepsTrial) -> Element:
    name = element("span", f"{steps:,}")
    if steps == trial.present:
        name.append(element("span", "set", class_="tag"))
    if steps == trial.steps_per_execution:
        name.append(element("span", "recommended", class_="tag"))
    return name


def _curve(trial: StepsTrial) -> list[Element]:
    chosen = trial.predicted_ms(trial.steps_per_execution)
    marked = {} if chosen is None else {"recommended": (trial.steps_per_execution, chosen)}
    what = "Milliseconds per step over steps per execution"
    return [
        curve_keys(marked),
        curve_plot(what, trial.measured_ms, trial.curve, marked, height=130),
    ]
