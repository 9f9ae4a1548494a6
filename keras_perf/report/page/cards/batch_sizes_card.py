"""What other batch sizes gave, as a card of the page."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree.ElementTree import Element

from keras_perf.records.run.tried.batch_sizes import BatchSizes
from keras_perf.report.page.cards.lanes_card import lane_head
from keras_perf.report.page.html import card, element, table
from keras_perf.report.page.plots.curve import curve_keys, curve_plot
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.batch_sizes_table import BATCH_SIZES, HEADER, batch_size_rows

LANES = {
    "examples per second": ("examples_per_sec", "batch_size/examples_per_sec"),
    "step, ms": ("step_ms", "batch_size/step_time_ms"),
    "peak of memory, MiB": ("peak_mib", "batch_size/peak_mib"),
}
"""What is drawn → the field that has it, and its tag."""

CAPTION = (
    "Each size in a process of its own, on a batch that was ready. Learning rate and convergence "
    "change with the batch size."
)


def batch_sizes_card(report: RunReport) -> Element | None:
    """Throughput, step time and memory over the sizes; None where no sweep was written."""
    found = report.summary.facts.batch_sizes
    if found is None or not found.trained:
        return None
    marked = {"recommended": found.recommended, "largest that fits": found.largest}
    there = {name: size for name, size in marked.items() if size is not None}
    drawn: list[Element] = []
    for name, (field, tag) in LANES.items():
        drawn += _lane(found, name, field, tag, there)
    return card(
        BATCH_SIZES,
        element("p", f"{found.reason} {found.memory}"),
        element("figure", curve_keys(there), *drawn),
        table(HEADER, [list(row) for row in batch_size_rows(found)], CAPTION),
    )


def _lane(
    found: BatchSizes, name: str, field: str, tag: str, marked: Mapping[str, int]
) -> list[Element]:
    figures = {each.batch_size: getattr(each, field) for each in found.trained}
    measured = {size: float(value) for size, value in figures.items() if value is not None}
    if not measured:
        return []
    of_memory = field == "peak_mib"
    through = _memory_line(found, measured) if of_memory else [*measured.items()]
    places = {what: (size, measured[size]) for what, size in marked.items() if size in measured}
    plotted = f"{name} over batch size"
    drawn = curve_plot(plotted, measured, through, places, height=90, ticks=of_memory)
    return [lane_head(name, tag), drawn]


def _memory_line(found: BatchSizes, measured: Mapping[int, float]) -> list[tuple[int, float]]:
    """The line that was laid through the peaks; on this axis it bends."""
    fixed, each = found.fixed_mib, found.per_example_mib
    if fixed is None or each is None:
        return []
    return [(size, max(0.0, fixed + each * size)) for size in measured]
