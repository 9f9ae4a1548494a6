"""The first card of a run: what limits it, and what to change first."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.analyse.summary import ENOUGH_STEPS
from keras_perf.records.figures import figure, in_ms, in_percent
from keras_perf.records.interval import part_name
from keras_perf.report.page.html import element
from keras_perf.report.page.meanings import with_meaning
from keras_perf.report.page.plots.step_parts import colour_of, stack
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

A_STEP = "a step"
"""In `Diagnosis.predicted_together`."""

FIRST_ADVICE = 3
"""Named with the verdict."""

LABELLED = 0.14
"""Parts with a smaller share of the bar are named below it only where all stand in a list."""


def verdict_card(report: RunReport, name: str) -> Element:
    """What limits the run, its figures, where a step goes, and what to change first."""
    diagnosis = report.diagnosis
    why = diagnosis.explanation
    return element(
        "section",
        *(element("p", said, class_="state") for said in (*diagnosis.ending, *diagnosis.alerts)),
        element("p", diagnosis.verdict, class_="name"),
        element("p", why[:1].upper() + why[1:], class_="because"),
        element("dl", *_figures(report), class_="figures"),
        *_bar(report),
        *_first_advice(report, name),
        class_="card verdict",
        style=colour_of(PART_OF_VERDICT.get(diagnosis.verdict, "other_host")),
    )


def _figures(report: RunReport) -> list[Element]:
    """What a step takes, and what it could take."""
    figures = {
        "step": (report.step_ms, " ms", "perf/step_time_ms"),
        "steps per second": (report.steps_per_sec, "", "perf/steps_per_sec"),
        "examples per second": (report.examples_per_sec, "", "perf/examples_per_sec"),
        "steps measured": (report.summary.steps, "", "perf/interval_steps"),
    }
    shown = [
        element(
            "div",
            element("dt", with_meaning(label, tag, label)),
            element("dd", figure(value), element("small", unit)),
        )
        for label, (value, unit, tag) in figures.items()
        if value
    ]
    for what, (expected, low, high) in report.diagnosis.predicted_together.items():
        then = f", {in_ms(report.step_ms / expected)}" if what == A_STEP and report.step_ms else ""
        gain = element("dd", f"{expected:.2f}×", element("small", f" ({low:.2f}–{high:.2f}){then}"))
        told = f"{what}, predicted with all advice followed"
        shown.append(element("div", element("dt", told), gain))
    return shown


def _bar(report: RunReport) -> list[Element]:
    """The parts of a step; the larger ones with name and share, so that no colour is looked up."""
    step_ms = report.step_ms
    if not step_ms:
        return []
    labels = [
        element(
            "span",
            f"{part_name(part)} {in_percent(ms / step_ms)}",
            class_="" if ms >= LABELLED * step_ms else "short",
            style=f"{colour_of(part)}; width: {ms / step_ms:.3%}",
        )
        for part, ms in report.parts.items()
        if ms
    ]
    return [
        stack(report, step_ms),
        element("div", *labels, class_="stack-labels", aria_hidden="true"),
    ]


def _first_advice(report: RunReport, name: str) -> list[Element]:
    """What to change first, whose reasons come further below; or that nothing gains."""
    rows = [
        element(
            "li",
            element("a", advice.title, href=f"#{advice_id(name, place)}"),
            element("span", gain_of(advice), class_="gain"),
        )
        for place, advice in enumerate(report.diagnosis.recommendations[:FIRST_ADVICE], 1)
    ]
    if rows:
        return [element("ol", *rows, class_="first-advice", aria_label="Change first")]
    # Of too few steps the verdict says it.
    enough = report.summary.steps >= ENOUGH_STEPS
    return [element("p", report.diagnosis.closing, class_="no-advice")] if enough else []


def advice_id(name: str, place: int) -> str:
    """Of the advice in that place."""
    return f"{name}-advice-{place}"
