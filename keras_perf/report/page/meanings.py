"""What a figure means, behind a `?` beside it: from the table of metrics, or of other terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from xml.etree.ElementTree import Element

from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.records.metrics.metric import Metric
from keras_perf.report.page.html import element
from keras_perf.report.page.terms import TERMS, Term

_BY_TAG = {metric.tag: metric for metric in METRICS}
_MEANINGS: dict[str, Metric | Term] = {**_BY_TAG, **TERMS}


def meaning(tag: str, name: str) -> Element:
    """A button that shows what a metric means; `popovers` has what it shows.

    Arguments:
        tag: as in the table of metrics, or in that of terms; another has no meaning, and raises.
        name: what the page calls it.
    """
    if tag not in _MEANINGS:
        raise KeyError(tag)
    return element(
        "button",
        "?",
        type="button",
        class_="meaning",
        popovertarget=_id(tag),
        aria_label=f"What {name} means",
    )


def with_meaning(name: str | Element, tag: str, called: str) -> Element:
    """A name, and the button behind it."""
    return element("span", name, " ", meaning(tag, called), class_="meant")


def explained(names: Iterable[str], tags: Mapping[str, str]) -> list[str | Element]:
    """Names of columns or rows, with the button behind each that has a tag."""
    return [with_meaning(name, tags[name], name) if name in tags else name for name in names]


def explained_rows(
    rows: Iterable[Sequence[str]], tags: Mapping[str, str]
) -> list[list[str | Element]]:
    """Rows whose first cell has such a button."""
    return [[*explained(row[:1], tags), *row[1:]] for row in rows]


def popovers(page: Iterable[Element]) -> list[Element]:
    """What the buttons of these elements show, each once."""
    wanted = {
        button.attrib["popovertarget"]
        for each in page
        for button in each.iter("button")
        if "popovertarget" in button.attrib
    }
    return [_popover(tag) for tag in _MEANINGS if _id(tag) in wanted]


def _popover(tag: str) -> Element:
    told, metric = _MEANINGS[tag], _BY_TAG.get(tag)
    blind = [element("p", element("b", "Cannot see: "), told.blind_spot)] if told.blind_spot else []
    unit = f" in {metric.unit}" if metric is not None else ""
    logged = [element("p", element("code", tag), unit, class_="quiet")] if unit else []
    return element(
        "div",
        element("p", told.meaning),
        *blind,
        *logged,
        id=_id(tag),
        class_="meaning",
        popover="auto",
    )


def _id(tag: str) -> str:
    return "about-" + re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")
