"""What the page says of one run, card by card; a card that would be empty is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

from keras_perf.advise.recommendation import Recommendation
from keras_perf.records.figures import figure
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.measured_cards import (
    devices_card,
    efficiency_card,
    events_card,
    facts_card,
    inference_card,
    owners_card,
    plots_card,
    stages_card,
    start_up_card,
    totals_card,
    workers_card,
)
from keras_perf.report.page.trials_card import trials_card
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.gain import gain_of

PART_OF_VERDICT = {
    "input-bound": "input_wait",
    "callback-bound": "callbacks",
    "dispatch-bound": "dispatch",
    "compile-bound": "compile",
    "communication-bound": "compute",
    "compute-bound": "compute",
    "eager-bound": "compute",
}


FIRST_ADVICE = 3
"""So much of it stands beside the verdict."""

OverSteps = Callable[[RunReport, str], Element | None]
"""Makes the card that shows a run over its steps."""


def run_cards(report: RunReport, name: str, over_steps: OverSteps = plots_card) -> list[Element]:
    """The cards of one run; `name` sets its ids apart from those of other runs."""
    cards = (
        _verdict(report, name),
        over_steps(report, name),
        _breakdown(report),
        workers_card(report),
        _advice(report, name),
        trials_card(report),
        owners_card(report),
        inference_card(report),
        stages_card(report),
        efficiency_card(report),
        devices_card(report),
        totals_card(report),
        events_card(report),
        start_up_card(report),
        _notes(report),
        facts_card(report),
    )
    return [made for made in cards if made is not None]


def _colour(part: str) -> str:
    return f"--part: var(--{part})"


def _verdict(report: RunReport, name: str) -> Element:
    diagnosis = report.diagnosis
    why = diagnosis.explanation
    figures = {
        "step": (report.step_ms, " ms"),
        "steps per second": (report.steps_per_sec, ""),
        "examples per second": (report.examples_per_sec, ""),
        "steps measured": (report.summary.steps, ""),
    }
    shown = [
        element(
            "div",
            element("dt", label),
            element("dd", figure(value), element("small", unit)),
        )
        for label, (value, unit) in figures.items()
        if value
    ]
    for what, (expected, low, high) in diagnosis.predicted_together.items():
        gain = element("dd", f"{expected:.2f}×", element("small", f" ({low:.2f}–{high:.2f})"))
        told = f"{what}, predicted with all advice followed"
        shown.append(element("div", element("dt", told), gain))
    return element(
        "section",
        *(element("p", alert, class_="because") for alert in diagnosis.alerts),
        element("p", diagnosis.verdict, class_="name"),
        element("p", why[:1].upper() + why[1:], class_="because"),
        element("dl", *shown, class_="figures"),
        *_first_advice(diagnosis.recommendations, name),
        class_="card verdict",
        style=_colour(PART_OF_VERDICT.get(diagnosis.verdict, "other_host")),
    )


def _first_advice(advice: Sequence[Recommendation], name: str) -> list[Element]:
    """The best of it, a line each, which lead to all that is said of it."""
    lines = [
        element(
            "li",
            element("a", each.title, href=f"#{name}-advice-{place}"),
            element("span", gain_of(each), class_="gain"),
        )
        for place, each in enumerate(advice[:FIRST_ADVICE], 1)
    ]
    return [element("ol", *lines, class_="first-advice")] if lines else []


def _breakdown(report: RunReport) -> Element | None:
    step_ms = report.step_ms
    if not step_ms:
        return None
    rows: list[list[str | Element]] = []
    for part, ms in report.parts.items():
        figures = ("in compute", "") if ms is None else (f"{ms:.3f}", f"{ms / step_ms:.1%}")
        rows.append([swatch(part), *figures])
    rows.append(["step", f"{step_ms:.3f}", "100.0%"])
    caption = "Mean milliseconds per step, by what the step spent them on."
    return card(
        "Where a step goes",
        stack(report, step_ms),
        table(["part of a step", "ms", "share"], rows, caption, class_="breakdown"),
    )


def swatch(part: str) -> Element:
    """A part's name behind its colour."""
    return element(
        "span", element("span", class_="swatch", style=_colour(part)), part.replace("_", " ")
    )


def stack(report: RunReport, full_ms: float) -> Element:
    """The parts of a step as a bar; one of `full_ms` milliseconds takes the whole width.

    It shows what a table beside it says, and is not read aloud.
    """
    parts = [
        element(
            "span",
            title=f"{part.replace('_', ' ')}: {ms:.3f} ms",
            style=f"{_colour(part)}; width: {ms / full_ms:.3%}",
        )
        for part, ms in report.parts.items()
        if ms
    ]
    return element("div", *parts, class_="stack", aria_hidden="true")


def _advice(report: RunReport, name: str) -> Element | None:
    advice = report.diagnosis.recommendations
    if not advice:
        return None
    return card(
        "What to change, best first",
        *(_recommendation(place, each, name) for place, each in enumerate(advice, 1)),
    )


def _recommendation(place: int, advice: Recommendation, name: str) -> Element:
    title = element("h4", f"{place}. {advice.title}", element("span", advice.id, class_="tag"))
    return element(
        "div",
        element("div", title, element("span", gain_of(advice), class_="gain"), class_="head"),
        element("p", advice.reason),
        element("pre", element("code", advice.action)),
        class_="advice",
        id=f"{name}-advice-{place}",
    )


def _notes(report: RunReport) -> Element | None:
    notes = report.diagnosis.notes
    return card("Notes", element("ul", *(element("li", n) for n in notes))) if notes else None
