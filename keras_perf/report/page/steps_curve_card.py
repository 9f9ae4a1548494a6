"""What other numbers of steps per execution cost, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.run.tried.steps_trial import StepsPerExecution
from keras_perf.report.page.drawing import Axis, keys, line, mark, plot, stretched
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import with_meaning
from keras_perf.report.run_report import RunReport

POINTS = 60
"""Of the curve."""

COLOUR = "var(--compute)"
CAPTION = "Milliseconds per step; the curve is c + h / N, through what was measured."


def steps_curve_card(report: RunReport) -> Element | None:
    """The measured times, and the curve through them; None where nothing was tried."""
    trial = report.summary.facts.trial
    if trial is None or not trial.trials or len(trial.trials) < 2:
        return None
    measured = {n: ms + (trial.host_ms or 0.0) / n for n, ms in sorted(trial.trials.items())}
    rows: list[list[str | Element]] = [
        [_named(n, trial), _told(_predicted(trial, n)), _told(measured.get(n))]
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


def _told(ms: float | None) -> str:
    return "–" if ms is None else f"{ms:.3f}"


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
    over = Axis(least, most, logarithmic=True)
    up = Axis(0.0, max([*measured.values(), *(ms for _, ms in curve)]) * 1.15)
    shapes = [line([(over.percent(n), up.percent(ms)) for n, ms in curve], COLOUR)] if curve else []
    marks = [
        mark(over.percent(n), up.percent(ms), "o", COLOUR, f"{n:,} steps: {ms:.3f} ms measured")
        for n, ms in measured.items()
    ]
    chosen = _predicted(trial, trial.steps_per_execution)
    named = [("measured", COLOUR, "o")]
    if chosen is not None:
        place = over.percent(trial.steps_per_execution), up.percent(chosen)
        marks.append(mark(*place, "D", "var(--good)", "recommended"))
        named.append(("recommended", "var(--good)", "D"))
    ticks = [(float(n), f"{n:,}") for n in measured]
    title = "Milliseconds per step over steps per execution: " + ", ".join(
        f"{n:,}: {ms:.3f}" for n, ms in measured.items()
    )
    drawn = plot(title, over, up, [stretched(*shapes), *marks], height=130, x_ticks=ticks)
    return [keys(named), drawn]
