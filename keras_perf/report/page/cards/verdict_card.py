"""The first card of a run: what limits it, and what to change first."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.advise.recommendation import Recommendation
from keras_perf.analyse.summary import ENOUGH_STEPS
from keras_perf.records.figures import figure, in_ms, in_percent
from keras_perf.records.interval import part_name
from keras_perf.report.in_a_sentence import in_a_sentence
from keras_perf.report.page.html import element
from keras_perf.report.page.meanings import with_meaning
from keras_perf.report.page.plots.step_parts import colour_of, stack
from keras_perf.report.run_report import RunReport

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


def verdict_card(report: RunReport, name: str) -> Element:
    """What limits the run, its figures, where a step goes, and what to change first."""
    diagnosis = report.diagnosis
    return element(
        "section",
        *(element("p", said, class_="state") for said in (*diagnosis.ending, *diagnosis.alerts)),
        element(
            "div",
            element("p", diagnosis.verdict, class_="name"),
            element("p", in_a_sentence(diagnosis), class_="because"),
            class_="in-a-sentence",
        ),
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
        "examples/s": (report.examples_per_sec, "", "perf/examples_per_sec"),
        "steps measured": (report.summary.steps, "", "perf/interval_steps"),
    }
    step, *others = [
        element(
            "div",
            element("dt", with_meaning(label, tag, label)),
            element("dd", figure(value), element("small", unit)),
        )
        for label, (value, unit, tag) in figures.items()
        if value
    ] or [element("div")]
    return [step, *_predicted(report), *others]


def _predicted(report: RunReport) -> list[Element]:
    """What it could be: a step, and the whole training."""
    together = report.diagnosis.predicted_together
    shown = [
        element(
            "span",
            f"{what} ",
            *_then(report, what, expected),
            element("b", f"{expected:.2f}×"),
            f" ({low:.2f}–{high:.2f})",
        )
        for what, (expected, low, high) in reversed(together.items())
    ]
    if not shown:
        return []
    told = element("dt", "predicted with all advice followed")
    return [element("div", told, element("dd", *shown), class_="predicted")]


def _then(report: RunReport, what: str, expected: float) -> list[str | Element]:
    """The time of a step that is so many times as fast."""
    if what != A_STEP or not report.step_ms:
        return []
    return [element("b", in_ms(report.step_ms / expected)), ", "]


def _bar(report: RunReport) -> list[Element]:
    """The parts of a step, and each with name and share in the order in which they lie."""
    step_ms = report.step_ms
    if not step_ms:
        return []
    labels = [
        element(
            "span",
            f"{part_name(part)} {in_percent(ms / step_ms)}",
            style=colour_of(part),
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
            element(
                "span",
                element("a", advice.title, href=f"#{advice_id(name, place)}"),
                element("span", _gain(advice), class_="gain"),
            ),
        )
        for place, advice in enumerate(report.diagnosis.recommendations[:FIRST_ADVICE], 1)
    ]
    if rows:
        return [element("ol", *rows, class_="first-advice", aria_label="Change first")]
    # Of too few steps the verdict says it.
    enough = report.summary.steps >= ENOUGH_STEPS
    return [element("p", report.diagnosis.closing, class_="no-advice")] if enough else []


def _gain(advice: Recommendation) -> str:
    """In short, of what and how it is known; its reason has the rest."""
    how = "measured" if advice.tried else "predicted"
    what = "whole training" if advice.of == "whole" else "step"
    if (gain := advice.speedup_after_others) is not None:
        return f"{what} {gain:.2f}× after those above, {how}"
    bounds = f"({advice.low:.2f}–{advice.high:.2f})"
    return f"{what} {advice.predicted_speedup:.2f}× {bounds}, {how}"


def advice_id(name: str, place: int) -> str:
    """Of the advice in that place."""
    return f"{name}-advice-{place}"
