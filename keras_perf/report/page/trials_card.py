"""What was tried on the training, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.figures import figure
from keras_perf.records.run.tried.advice_trials import TriedChange
from keras_perf.report.page.html import card, element, table
from keras_perf.report.run_report import RunReport


def trials_card(report: RunReport) -> Element | None:
    """A row a change, the best first; then all that was put together."""
    trials = report.summary.facts.advice_trials
    if trials is None or not trials.changes:
        return None
    changes = sorted(trials.changes, key=lambda each: each.gain, reverse=True)
    together = {(each.id, each.where) for each in trials.together}
    largest = max(each.gain for each in (*changes, *([trials.total] if trials.total else [])))
    rows = [_row(each, largest, put_together=(each.id, each.where) in together) for each in changes]
    if trials.total is not None and len(trials.together) > 1:
        rows.append(_row(trials.total, largest, put_together=True))
    caption = (
        "Real training steps with each change, in turn with steps without it; in brackets the 80 % "
        "interval. Marked: what was put together."
    )
    return card("Tried on this training", table(["change", "step, ms", "gain", ""], rows, caption))


def _row(tried: TriedChange, largest: float, *, put_together: bool) -> list[str | Element]:
    name = element("span", f"{tried.id} ({tried.where})" if tried.where else tried.id)
    if put_together:
        name.append(element("span", "together", class_="tag"))
    width = element("span", style=f"width: {tried.gain / largest:.2%}")
    return [
        name,
        f"{figure(tried.before_ms)} → {figure(tried.after_ms)}",
        f"{tried.gain:.2f}× ({tried.low:.2f}–{tried.high:.2f})",
        element("span", width, class_="bar", aria_hidden="true"),
    ]
