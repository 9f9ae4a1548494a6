"""The input pipeline as a card of the page: drawn, and as a table."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.analyse.stage_paces import StagePace, shown_paces
from keras_perf.records.figures import in_bytes
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.meanings import explained
from keras_perf.report.page.plots.pipeline_graph import pipeline_graphs
from keras_perf.report.run_report import RunReport

HEADER = ("stage", "threads", "size", "work, ms", "time, ms", "buffer")
TAGS = {
    "threads": "stage threads",
    "size": "stage size",
    "work, ms": "stage work",
    "time, ms": "stage time",
    "buffer": "stage buffer",
}
CAPTION = (
    "Per batch, from the source to the last stage. Time is work shared among the stage's "
    "threads; the stage that takes longest sets the pace."
)


def pipeline_card(report: RunReport) -> Element | None:
    """What each stage costs, with the pace-setter marked."""
    drawn = pipeline_graphs(report)
    if not drawn:
        return None
    rows: list[list[str | Element]] = [
        [
            _stage_name(pace),
            f"{pace.threads}",
            in_bytes(pace.stage.bytes_per_batch),
            f"{pace.stage.cost_ms:.3f}",
            f"{pace.ms:.3f}",
            f"{pace.stage.buffered}/{pace.stage.buffer_size}" if pace.stage.buffer_size else "–",
        ]
        for pace in shown_paces(report.summary.facts)
    ]
    graph = element("div", *drawn, class_="scroll")
    stages = table(explained(HEADER, TAGS), rows, CAPTION)
    return card("Input pipeline", element("div", graph, stages, class_="two"))


def _stage_name(pace: StagePace) -> Element:
    name = element("span", pace.name)
    if pace.sets_the_pace:
        name.append(element("span", "sets the pace", class_="tag"))
    return name
