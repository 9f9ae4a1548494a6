"""What was tried on the training, as a card of the page."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from keras_perf.records.figures import figure
from keras_perf.records.run.tried.advice_trials import AdviceTrials, TriedChange
from keras_perf.report.page.html import card, element, table
from keras_perf.report.run_report import RunReport
from keras_perf.report.text.tried_tables import (
    INPUT_CHANGES,
    INPUT_HEADER,
    TRIED,
    TRIED_BEFORE,
    alteration,
    input_outcome,
    input_rows,
    named,
    on_top,
)

CAPTION = (
    "Real training steps with each change, in turn with steps without it; in brackets the 80% "
    "interval. Marked: what was put together. The upper bar is a step with the change, the "
    "lower one without it."
)

INPUT_CAPTION = (
    "Batches of the input alone with each change, in turn with batches without it, on top of the "
    "changes kept before; in brackets the 80% interval."
)


def trials_card(report: RunReport) -> Element | None:
    """A row a change, the best first; then all that was put together, and what was not tried."""
    return _card(TRIED, report.summary.facts.advice_trials)


def tried_before_card(report: RunReport) -> Element | None:
    """The same of what trained in this directory before: the program may be another by now."""
    return _card(TRIED_BEFORE, report.summary.facts.tried_before)


def input_changes_card(report: RunReport) -> Element | None:
    """What `tune_input` has found; None where nothing of it was written."""
    found = report.summary.facts.input_changes
    if found is None:
        return None
    rows = [list(row) for row in input_rows(found)]
    shown = [table(INPUT_HEADER, rows, INPUT_CAPTION)] if rows else []
    return card(INPUT_CHANGES, element("p", input_outcome(found)), *shown)


def _card(title: str, trials: AdviceTrials | None) -> Element | None:
    if trials is None or not (trials.changes or trials.not_tried):
        return None
    changes = trials.measured
    total = [trials.total] if trials.total is not None and len(trials.together) > 1 else []
    longest = max((ms for e in (*changes, *total) for ms in (e.before_ms, e.after_ms)), default=0.0)
    together = {(each.id, each.where) for each in trials.together}
    rows = [_row(each, longest, put_together=(each.id, each.where) in together) for each in changes]
    rows += [_row(each, longest, put_together=True) for each in total]
    header = ["change", "step, ms", "gain", ""]
    shown = [table(header, rows, CAPTION, class_="trials")] if rows else []
    return card(title, *shown, *_not_tried(trials))


def _row(tried: TriedChange, longest: float, *, put_together: bool) -> list[str | Element]:
    name = element("span", named(tried.id, tried.where))
    if put_together:
        name.append(element("span", "together", class_="tag"))
    if tried.after:
        name.append(element("small", on_top(tried), class_="quiet"))
    if tried.alters:
        name.append(element("small", f" – {alteration(tried)}", class_="quiet"))
    return [
        name,
        f"{figure(tried.before_ms)} → {figure(tried.after_ms)}",
        f"{tried.gain:.2f}× ({tried.low:.2f}–{tried.high:.2f})",
        _bars(tried, longest),
    ]


def _bars(tried: TriedChange, longest: float) -> Element:
    """A step with the change above one without it; what they show stands in the row."""
    bars = [
        element("span", class_=class_, style=f"width: {ms / longest if longest else 0:.2%}")
        for class_, ms in (("with", tried.after_ms), ("without", tried.before_ms))
    ]
    return element("span", *bars, class_="bars", aria_hidden="true")


def _not_tried(trials: AdviceTrials) -> list[Element]:
    """What was not measured, and why."""
    if not trials.not_tried:
        return []
    why = [
        element("li", element("b", named(each.id, each.where)), f": {each.why}")
        for each in trials.not_tried
    ]
    return [element("details", element("summary", "Not tried, and why"), element("ul", *why))]
