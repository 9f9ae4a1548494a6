"""What other numbers of steps per execution cost, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.figures import in_form
from keras_perf.records.run.tried.steps_trial import StepsPerExecution
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import with_meaning
from keras_perf.report.page.plots.curve import curve_keys, curve_plot
from keras_perf.report.run_report import RunReport

POINTS = 60
"""Of the curve."""

CAPTION = "Milliseconds per step; the curve is c + h / N, through what was measured."


def steps_curve_card(report: RunReport) -> Element | None:
    """The measured times, and the curve through them; None where nothing was tried."""
    trial = report.summary.facts.trial
    if trial is None or not trial.trials or len(trial.trials) < 2:
        return None
    measured = {n: ms + (trial.host_ms or 0.0) / n for n, ms in sorted(trial.trials.items())}
    rows: list[list[str | Element]] = [
        [_named(n, trial), in_form(_predicted(trial, n)), in_form(measured.get(n))]
        for n in sorted({*measured, trial.present, trial.steps_per_execution})
    ]
    number = with_meaning(
        "steps per execution", "steps_per_execution/recommended_steps", "steps per execution"
    )
    return card(
        "Steps per execution, tried",
        element("p", trial.reason[:1].upper() + trial.reason[1:]),
        element("figure", *_curve(trial, measured)),
        table([number, "predicted, ms", "measured, ms"], rows, CAPTION),
    )


def _predicted(trial: StepsPerExecution, steps: float) -> float | None:
    if trial.in_graph_ms is None or trial.per_execution_ms is None:
        return None
    return trial.in_graph_ms + trial.per_execution_ms / steps


def _named(steps: int, trial: StepsPerExecution) -> Element:
    name = element("span", f"{steps:,}")
    if steps == trial.present:
        name.append(element("span", "set", class_="tag"))
    if steps == trial.steps_per_execution:
        name.append(element("span", "recommended", class_="tag"))
    return name


def _curve(trial: StepsPerExecution, measured: dict[int, float]) -> list[Element]:
    least, most = min(measured), max(*measured, trial.steps_per_execution)
    numbers = [least * (most / least) ** (k / POINTS) for k in range(POINTS + 1)]
    curve = [(n, ms) for n in numbers if (ms := _predicted(trial, n)) is not None]
    chosen = _predicted(trial, trial.steps_per_execution)
    marked = {} if chosen is None else {"recommended": (trial.steps_per_execution, chosen)}
    what = "Milliseconds per step over steps per execution"
    return [curve_keys(marked), curve_plot(what, measured, curve, marked, height=130)]
