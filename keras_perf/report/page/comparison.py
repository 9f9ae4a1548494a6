"""What changed from the first run to another, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.interval import PARTS, part_name
from keras_perf.report.compared.comparison import Comparison, comparison_of
from keras_perf.report.compared.differing_settings import NOTHING_DIFFERS, settings_table
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import explained, explained_rows
from keras_perf.report.run_report import RunReport


def change_card(first: RunReport, report: RunReport) -> Element | None:
    """Part by part what was saved, and what became of the advice; None where one has no steps."""
    if not first.summary.steps or not report.summary.steps:
        return None
    compared = comparison_of(first.diagnosis, report.diagnosis)
    header, rows = compared.parts_table()
    names, advice = compared.advice_table()
    taken = [table(explained(names, TAGS), advice, ADVICE)] if advice else []
    return card(
        f"From {first.name} to {report.name}",
        element("p", compared.headline),
        table(explained(header, TAGS), explained_rows(rows, TAGS), PARTS_SAVED),
        *taken,
        _settings(compared),
        element("p", compared.closing, class_="quiet"),
    )


def _settings(compared: Comparison) -> Element:
    if not compared.settings:
        return element("p", NOTHING_DIFFERS)
    return table(*settings_table(compared.settings), SETTINGS, class_="settings")


TAGS = {
    **{part_name(part): f"perf/{part}_ms" for part in PARTS},
    "step": "perf/step_time_ms",
    "between epochs: validation": "perf_between_epochs/validation_ms",
    "between epochs: callbacks": "perf_between_epochs/callbacks_ms",
    "between epochs: the rest": "perf_between_epochs/rest_ms",
    "saved ms": "saved",
    "90% interval": "interval of what was saved",
    "predicted": "predicted gain",
}
"""Column or row → what its figures are."""

PARTS_SAVED = (
    "Mean milliseconds per step. The interval is of the time saved, from resampling both runs a "
    "thousand times; where it contains 0, the change may be chance."
)

ADVICE = "What was recommended for the first run, and what this one shows of it."

SETTINGS = (
    "– is not set, or not known. What was not recorded, such as layers and data, may differ too."
)
