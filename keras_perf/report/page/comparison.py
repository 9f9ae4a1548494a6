"""What changed from the first run to another, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.report.comparison import Comparison, comparison_of
from keras_perf.report.differing_settings import NOTHING_DIFFERS, settings_table
from keras_perf.report.page.html import card, element, table
from keras_perf.report.run_report import RunReport


def change_card(first: RunReport, report: RunReport) -> Element | None:
    """Part by part what was saved, and what became of the advice; None where one has no steps."""
    if not first.summary.steps or not report.summary.steps:
        return None
    compared = comparison_of(first.diagnosis, report.diagnosis)
    header, rows = compared.parts_table()
    taken = [table(*compared.advice_table(), ADVICE)] if first.diagnosis.recommendations else []
    return card(
        f"From {first.name} to {report.name}",
        element("p", compared.headline),
        table(header, rows, PARTS_SAVED),
        *taken,
        _settings(compared),
        element("p", compared.closing, class_="quiet"),
    )


def _settings(compared: Comparison) -> Element:
    if not compared.settings:
        return element("p", NOTHING_DIFFERS)
    return table(*settings_table(compared.settings), SETTINGS, class_="settings")


PARTS_SAVED = (
    "Mean milliseconds per step. The interval is of the time saved, from resampling both runs a "
    "thousand times; where it contains 0, the change may be chance."
)

ADVICE = "What was recommended for the first run, and what this one shows of it."

SETTINGS = (
    "– is not set, or not known. What was not recorded, such as layers and data, may differ too."
)
