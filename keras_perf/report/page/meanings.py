"""What a figure means, behind a `?` beside it: from the table of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element

from keras_perf.records.metrics.all_metrics import METRICS
from keras_perf.report.page.html import element

_BY_TAG = {metric.tag: metric for metric in METRICS}


def meaning(tag: str, name: str) -> Element:
    """A button that shows what a metric means; `popovers` has what it shows.

    Arguments:
        tag: as in the table of metrics; another one has no meaning, and raises.
        name: what the page calls it.
    """
    return element(
        "button",
        "?",
        type="button",
        class_="meaning",
        popovertarget=_id(_BY_TAG[tag].tag),
        aria_label=f"What {name} means",
    )


def with_meaning(name: str | Element, tag: str, called: str) -> Element:
    """A name, and the button behind it."""
    return element("span", name, " ", meaning(tag, called), class_="meant")


def popovers(page: Iterable[Element]) -> list[Element]:
    """What the buttons of these elements show, each once."""
    wanted = {
        button.attrib["popovertarget"]
        for each in page
        for button in each.iter("button")
        if "popovertarget" in button.attrib
    }
    return [_popover(tag) for tag in _BY_TAG if _id(tag) in wanted]


def _popover(tag: str) -> Element:
    metric = _BY_TAG[tag]
    blind = [element("p", element("b", "Cannot see: "), metric.blind_spot)]
    return element(
        "div",
        element("p", metric.meaning),
        *(blind if metric.blind_spot else []),
        element("p", element("code", metric.tag), f" in {metric.unit}", class_="quiet"),
        id=_id(tag),
        class_="meaning",
        popover="auto",
    )


def _id(tag: str) -> str:
    return "about-" + re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")
