"""The exchange, GPUs and host over the steps of a run: all with one axis, one below the other."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.analyse.summary import Summary
from keras_perf.records.figures import figure
from keras_perf.records.run.times.exchange import EXCHANGE_PARTS
from keras_perf.report.page.cards.lanes_card import lane_head, lanes_figures
from keras_perf.report.page.cards.workers_card import EXCHANGE_NAMES
from keras_perf.report.page.html import card, element
from keras_perf.report.page.plots.lane_plot import Span, lane_plot
from keras_perf.report.page.plots.timeline import span_of
from keras_perf.report.run_report import RunReport


def machine_card(report: RunReport, shown: Span | None = None) -> Element | None:
    """The exchange, GPUs and host, over the steps that are shown; all where none are named."""
    span, figures = shown or span_of(report), []
    if lanes := _exchange(report.summary, span):
        what = element("small", " – as this worker saw it")
        title = element("figcaption", "Exchange among workers", what)
        figures.append(element("figure", title, *lanes))
    figures += lanes_figures(report, span)
    return card("The machine over the same steps", *figures) if figures else None


def _exchange(summary: Summary, span: Span) -> list[Element]:
    """What the exchange of gradients took in each interval; [] where it was not measured."""
    intervals = summary.intervals
    if not all(name in intervals for name in EXCHANGE_PARTS):
        return []
    known = intervals.dropna(subset=list(EXCHANGE_PARTS))
    if not len(known):
        return []
    most = float(known[list(EXCHANGE_PARTS)].to_numpy().max())
    drawn = []
    for name in EXCHANGE_PARTS:
        label = f"{EXCHANGE_NAMES[name]}, ms"
        figures = f"mean {figure(summary.exchange[name])}, to {figure(known[name].max())}"
        head = lane_head(label, f"perf/{name}_ms", figures)
        ticks = name == EXCHANGE_PARTS[-1]
        title = f"{label} over the steps: {figures}"
        drawn += [head, lane_plot(title, known[name], span, most * 1.1, ticks=ticks)]
    return drawn
