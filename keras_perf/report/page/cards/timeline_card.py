"""The card in which the browser draws a run's timeline, and its steps for a page as a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from keras_perf.report.page.html import element
from keras_perf.report.page.plots.timeline import MOST_COLUMNS, timeline_of
from keras_perf.report.run_report import RunReport

TITLE = "Over the training"

MARKUP = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&"})
"""What could end a script, as JSON may write it."""


def timeline_card(report: RunReport, name: str) -> Element | None:
    """`static/timeline.js` fills it; None where there is nothing to draw."""
    if not _has_timeline(report):
        return None
    waiting = element("p", "JavaScript draws a timeline here; it is off.", class_="quiet")
    # Not the run's own name, which is written here so that all of it can be seen.
    place = element("div", waiting, class_="timeline", data_place=name.removeprefix("run"))
    return element("section", element("h3", TITLE), place, class_="card over-training")


def held_steps(reports: Iterable[RunReport]) -> list[Element]:
    """The timelines of all runs, for `static/file.js`; in the tab the server is asked for them."""
    return [
        element("script", _steps(report), type="application/json", data_place=str(place))
        for place, report in enumerate(reports, 1)
        if _has_timeline(report)
    ]


def _has_timeline(report: RunReport) -> bool:
    return bool(report.summary.steps or report.events or report.summary.facts.captures)


def _steps(report: RunReport) -> str:
    """As the tab's server tells them all, and the steps of all outliers, held or not."""
    whole = timeline_of(report)
    told = whole.between(whole.first, whole.last, MOST_COLUMNS, None)
    told["outlier_steps"] = [each.step for each in whole.outliers]
    return json.dumps(told, separators=(",", ":")).translate(MARKUP)
