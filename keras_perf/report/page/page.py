"""The report as one page that needs no network: several runs, or one."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from keras_perf.records.interval import PARTS
from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.report.page.comparison import change_card
from keras_perf.report.page.html import card, document, element, table
from keras_perf.report.page.run_section import run_cards, stack, swatch
from keras_perf.report.page.style import STYLE
from keras_perf.report.run_report import RunReport
from keras_perf.report.runs_table import HEADER, NOTES, run_rows

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser loads nothing and runs no script, whatever a run's names hold."""


def page_html(reports: Sequence[RunReport]) -> str:
    """The page: of several runs a comparison first, then each run.

    Arguments:
        reports: at least one, as from `run_reports`.
    """
    if len(reports) == 1:
        [report] = reports
        title = f"{report.diagnosis.verdict} · {report.name}"
        head = [element("h1", report.name, class_="where")]
        runs = run_cards(report, "run1")
    else:
        title = f"{len(reports)} runs compared"
        head = [element("h1", title)]
        changes = [change_card(reports[0], report) for report in reports[1:]]
        runs = [_comparison(reports), *(change for change in changes if change is not None)]
        for place, report in enumerate(reports, 1):
            heading = element("h2", f"{place}. ", element("span", report.name, class_="where"))
            cards = run_cards(report, f"run{place}")
            runs.append(element("section", heading, *cards, class_="run", id=f"run{place}"))
    return document(
        element(
            "html",
            element(
                "head",
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=POLICY),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("title", f"{title} · keras_perf"),
                element("style", STYLE),
            ),
            element(
                "body",
                element(
                    "main",
                    element("header", element("p", "keras_perf report", class_="product"), *head),
                    *runs,
                    _legend(),
                ),
            ),
            lang="en",
        )
    )


def _comparison(reports: Sequence[RunReport]) -> Element:
    names = [
        element("a", report.name, href=f"#run{place}") for place, report in enumerate(reports, 1)
    ]
    rows: list[list[str | Element]] = [
        [name, *cells] for name, (_, *cells) in zip(names, run_rows(reports), strict=True)
    ]
    return card(
        "Side by side",
        table(
            HEADER,
            rows,
            "A row a run; means over its steps.",
            class_="runs",
        ),
        *_bars(reports),
        element("ul", *(element("li", note) for note in NOTES), class_="quiet"),
    )


def _bars(reports: Sequence[RunReport]) -> list[Element]:
    """A bar a run, all to one scale."""
    longest = max(report.step_ms or 0.0 for report in reports)
    if not longest:
        return []
    rows = [(report.name, stack(report, longest)) for report in reports]
    swatches = element("div", *map(swatch, PARTS), class_="swatches")
    return [table(("run", ""), rows, "Parts of a step, to one scale.", class_="bars"), swatches]


def _legend() -> Element:
    rows: list[list[str | Element]] = [
        [element("code", m.tag), m.unit, m.meaning, m.blind_spot or "–"] for m in METRICS
    ]
    header = ("tag", "unit", "meaning", "cannot see")
    caption = "Everything that is logged, under these tags in TensorBoard too."
    return element(
        "details",
        element("summary", "What each number means"),
        table(header, rows, caption, class_="words"),
        class_="card",
    )
