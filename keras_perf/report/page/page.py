"""The report as one page that needs no network: several runs, or one."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from keras_perf.records.interval import PARTS, part_name
from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.report.page.cards.timeline_card import held_steps
from keras_perf.report.page.comparison import change_card
from keras_perf.report.page.html import card, document, element, table
from keras_perf.report.page.meanings import explained, popovers
from keras_perf.report.page.plots.step_parts import stack, swatch
from keras_perf.report.page.run_section import run_cards
from keras_perf.report.page.script import script, script_hash, sheet
from keras_perf.report.page.style import STYLE
from keras_perf.report.run_report import RunReport, first_measured
from keras_perf.report.runs_table import HEADER, NOTES, run_rows

POLICY = f"default-src 'none'; style-src 'unsafe-inline'; script-src '{script_hash()}'"
"""The browser loads nothing and runs no script but ours, whatever a run's names hold."""

TAGS = {
    "step ms": "perf/step_time_ms",
    **{part_name(part): f"perf/{part}_ms" for part in PARTS},
    "steps/s": "perf/steps_per_sec",
    "examples/s": "perf/examples_per_sec",
    "J/example": "gpu/<i>/energy_per_example_j",
    "× the first": "times the first",
}
"""Column of the table of runs → what its figures are."""


def page_html(reports: Sequence[RunReport]) -> str:
    """The page: of several runs a comparison first, then each run.

    Arguments:
        reports: at least one, as from `run_reports`.
    """
    title = _title(reports)
    if len(reports) == 1:
        title = f"{reports[0].diagnosis.verdict} · {title}"
    return document(
        element(
            "html",
            element(
                "head",
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=POLICY),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("title", f"{title} · keras_perf"),
                element("style", STYLE + sheet()),
            ),
            element("body", page_content(reports), *held_steps(reports), script()),
            lang="en",
        )
    )


def page_content(reports: Sequence[RunReport]) -> Element:
    """What the page shows of these runs, in the tab as in a file."""
    if len(reports) == 1:
        head = element("h1", reports[0].name, class_="where")
        shown = run_cards(reports[0], "run1")
    else:
        head = element("h1", _title(reports))
        first = first_measured(reports)
        place = next(n for n, report in enumerate(reports) if report is first)
        changes = [change_card(first, report) for report in reports[place + 1 :]]
        known = [change for change in changes if change is not None]
        shown = [_comparison(reports, first), *known]
        if len(reports) == 2:
            # Of two runs the question is what the change did.
            shown.reverse()
        for place, report in enumerate(reports, 1):
            heading = element("h2", f"{place}. ", element("span", report.name, class_="where"))
            cards = run_cards(report, f"run{place}")
            shown.append(element("section", heading, *cards, class_="run", id=f"run{place}"))
    product = element("p", "keras_perf report", class_="product")
    header = element("header", product, head)
    return element("main", header, *shown, _legend(), *popovers(shown))


def side_by_side(reports: Sequence[RunReport], first: RunReport) -> Element:
    """A row a run, and nothing else of them.

    Arguments:
        reports: at least one, in the order of the rows.
        first: the one of them that the others are compared with.
    """
    shown = _comparison(reports, first, linked=False)
    return element("main", shown, *popovers([shown]))


def _title(reports: Sequence[RunReport]) -> str:
    return reports[0].name if len(reports) == 1 else f"{len(reports)} runs compared"


def _comparison(reports: Sequence[RunReport], first: RunReport, *, linked: bool = True) -> Element:
    names: list[str | Element] = [report.name for report in reports]
    if linked:
        names = [element("a", each.name, href=f"#run{n}") for n, each in enumerate(reports, 1)]
    rows: list[list[str | Element]] = [
        [name, *cells] for name, (_, *cells) in zip(names, run_rows(reports, first), strict=True)
    ]
    return card(
        "Side by side",
        table(
            explained(HEADER, TAGS),
            rows,
            f"One row per run, the first being {first.name}; means over its steps.",
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
    return [table(("run", ""), rows, "Parts of a step, all on one scale.", class_="bars"), swatches]


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
