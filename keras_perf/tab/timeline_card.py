"""The card in which the browser draws a run's timeline."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.report.page.html import card, element
from keras_perf.report.run_report import RunReport


def timeline_card(report: RunReport, name: str) -> Element | None:
    """In place of the plots of a page that runs no script; `static/timeline.js` fills it."""
    if not (report.summary.steps or report.events or report.summary.facts.captures):
        return None
    # Not the run's own name, which is written here so that all of it can be seen.
    place = element("div", class_="timeline", data_place=name.removeprefix("run"))
    return card("Over the training", place)
