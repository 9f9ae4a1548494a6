"""What is drawn over the steps of a run: all with the same axis, one below the other."""

from __future__ import annotations

from xml.etree.ElementTree import Element

import pandas as pd

from keras_perf.records.figures import figure
from keras_perf.records.run.exchange import EXCHANGE_PARTS
from keras_perf.report.page.html import card, element
from keras_perf.report.page.lanes_card import lanes_figures
from keras_perf.report.page.meanings import meaning
from keras_perf.report.page.plots import Span, events_plot, lane_plot, parts_plot
from keras_perf.report.page.workers_card import EXCHANGE_NAMES
from keras_perf.report.run_report import RunReport


def over_training_card(report: RunReport, _name: str) -> Element | None:
    """Parts and events; in the tab a timeline that can be zoomed takes their place."""
    span, figures = _span(report), []
    if report.summary.steps:
        drawn = parts_plot(report.summary.intervals, span)
        what = "ms per step over optimizer steps, a mean per interval"
        figures.append(_figure("Parts of a step", what, drawn, "perf/step_time_ms"))
    if report.events:
        drawn = events_plot(report.events, span)
        figures.append(_figure("Longest steps and pauses", "ms longer than usual, by cause", drawn))
    return card("Over the training", *figures) if figures else None


def machine_card(report: RunReport) -> Element | None:
    """The exchange, GPUs and host."""
    span, figures = _span(report), []
    if lanes := _exchange(report.summary.intervals, span):
        figures.append(_figure("Exchange among workers", "as this worker saw it", lanes))
    figures += lanes_figures(report, span)
    return card("The machine over the same steps", *figures) if figures else None


def _span(report: RunReport) -> Span:
    """All that is known of the run lies within."""
    begin = report.summary.facts.length.first_step or 0
    logged = report.scalars["step"].max() if len(report.scalars) else 0
    return begin, max(int(logged), begin + 1, *(event.step for event in report.events))


def _figure(title: str, what: str, drawn: list[Element], tag: str = "") -> Element:
    caption = [element("small", f" – {what} ")]
    if tag:
        caption.append(meaning(tag, title.lower()))
    return element("figure", element("figcaption", title, *caption), *drawn)


def _exchange(intervals: pd.DataFrame, span: Span) -> list[Element]:
    """What the exchange of gradients took in each interval; [] where it was not measured."""
    if not all(name in intervals for name in EXCHANGE_PARTS):
        return []
    known = intervals.dropna(subset=list(EXCHANGE_PARTS))
    if not len(known):
        return []
    most = float(known[list(EXCHANGE_PARTS)].to_numpy().max())
    drawn = []
    for name in EXCHANGE_PARTS:
        label = f"{EXCHANGE_NAMES[name]}, ms"
        figures = f"mean {figure(known[name].mean())}, to {figure(known[name].max())}"
        head = element(
            "div",
            element("span", label, " ", meaning(f"perf/{name}_ms", label)),
            element("span", figures, class_="quiet"),
            class_="lane-head",
        )
        ticks = name == EXCHANGE_PARTS[-1]
        title = f"{label} over the steps: {figures}"
        drawn += [head, lane_plot(title, known[name], span, most * 1.1, ticks=ticks)]
    return drawn
