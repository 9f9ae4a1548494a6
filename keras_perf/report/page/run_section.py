"""What the page says of one run, card by card; a card that would be empty is left out."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.advise.recommendation import Recommendation
from keras_perf.records.interval import PARTS, part_name
from keras_perf.report.in_a_sentence import in_a_sentence
from keras_perf.report.page.cards.batch_sizes_card import batch_sizes_card
from keras_perf.report.page.cards.learning_rates_card import learning_rates_card
from keras_perf.report.page.cards.machine_card import machine_card
from keras_perf.report.page.cards.measured_cards import (
    devices_card,
    efficiency_card,
    facts_card,
    inference_card,
    outliers_card,
    owners_card,
    start_up_card,
    totals_card,
)
from keras_perf.report.page.cards.pipeline_card import pipeline_card
from keras_perf.report.page.cards.steps_curve_card import steps_curve_card
from keras_perf.report.page.cards.timeline_card import timeline_card
from keras_perf.report.page.cards.trials_card import (
    input_changes_card,
    trials_card,
    tried_before_card,
)
from keras_perf.report.page.cards.verdict_card import advice_id, verdict_card
from keras_perf.report.page.cards.workers_card import workers_card
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import with_meaning
from keras_perf.report.page.plots.step_parts import swatch
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.gain import gain_of
from keras_perf.report.text.parts_table import parts_table


def run_cards(report: RunReport, name: str) -> list[Element]:
    """The cards of one run; `name` sets its ids apart from those of other runs."""
    cards = (
        verdict_card(report, name),
        timeline_card(report, name),
        _advice(report, name),
        _breakdown(report),
        workers_card(report),
        pipeline_card(report),
        machine_card(report),
        trials_card(report),
        tried_before_card(report),
        input_changes_card(report),
        steps_curve_card(report),
        batch_sizes_card(report),
        learning_rates_card(report),
        owners_card(report),
        inference_card(report),
        efficiency_card(report),
        devices_card(report),
        totals_card(report),
        outliers_card(report),
        start_up_card(report),
        _notes(report),
        facts_card(report),
    )
    return [made for made in cards if made is not None]


def _breakdown(report: RunReport) -> Element | None:
    if not report.step_ms:
        return None
    header, told = parts_table(report.diagnosis.breakdown)
    named = {
        part_name(part): with_meaning(swatch(part), f"perf/{part}_ms", part_name(part))
        for part in PARTS
    }
    named["step"] = with_meaning("step", "perf/step_time_ms", "step")
    rows: list[list[str | Element]] = [[named[name], *figures] for name, *figures in told]
    caption = "Mean milliseconds per step, by what the step spent them on."
    return card(
        "Where a step goes",
        *_why(report),
        table(header, rows, caption, class_="breakdown"),
    )


def _why(report: RunReport) -> list[Element]:
    """The whole explanation, where the verdict's sentence leaves some of it out."""
    why = report.diagnosis.explanation
    said = why[:1].upper() + why[1:]
    return [element("p", said, class_="why")] if said != in_a_sentence(report.diagnosis) else []


def _advice(report: RunReport, name: str) -> Element | None:
    advice = report.diagnosis.recommendations
    if not advice:
        return None
    return card(
        "What to change, best first",
        *(_recommendation(name, place, each) for place, each in enumerate(advice, 1)),
    )


def _recommendation(name: str, place: int, advice: Recommendation) -> Element:
    title = element("h4", f"{place}. {advice.title}", element("span", advice.id, class_="tag"))
    return element(
        "div",
        element("div", title, element("span", gain_of(advice), class_="gain"), class_="head"),
        element("p", advice.reason),
        element("pre", element("code", advice.action)),
        class_="advice",
        id=advice_id(name, place),
    )


def _notes(report: RunReport) -> Element | None:
    notes = [each for each in report.diagnosis.notes if each not in report.diagnosis.ending]
    return card("Notes", element("ul", *(element("li", n) for n in notes))) if notes else None
