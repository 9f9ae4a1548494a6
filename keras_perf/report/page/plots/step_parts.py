"""The parts of a step: their colours, their names, a bar of them."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.interval import part_name
from keras_perf.report.page.html import element
from keras_perf.report.run_report import RunReport


def colour_of(part: str) -> str:
    """A style in which a part's colour is the element's own."""
    return f"--part: var(--{part})"


def swatch(part: str) -> Element:
    """A part's name behind its colour."""
    return element("span", element("span", class_="swatch", style=colour_of(part)), part_name(part))


def stack(report: RunReport, full_ms: float) -> Element:
    """The parts of a step as a bar; one of `full_ms` milliseconds takes the whole width.

    It shows what a table beside it says, and is not read aloud.
    """
    parts = [
        element(
            "span",
            title=f"{part_name(part)}: {ms:.3f} ms",
            style=f"{colour_of(part)}; width: {ms / full_ms:.3%}",
        )
        for part, ms in report.parts.items()
        if ms
    ]
    return element("div", *parts, class_="stack", aria_hidden="true")
