"""Elements of a page: their text is made visible here, and escaped when the page is written.

A file holds the page as HTML; to a browser that asks for it, it is told as a tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

from keras_perf.records.text.visible import visible, visible_lines

SEVERAL_LINES = ("code", "style", "script")
"""Elements whose text is ours and keeps its lines."""


def element(tag: str, *children: str | Element, **attributes: str) -> Element:
    """An element with text and elements in it.

    Arguments:
        tag: such as `td`.
        children: in their order; strings are text, never markup, and what cannot be seen in them
            is written out.
        attributes: `class_` stands for `class`, `aria_label` for `aria-label`.
    """
    names = {name.rstrip("_").replace("_", "-"): visible(v) for name, v in attributes.items()}
    made = Element(tag, names)
    shown = visible_lines if tag in SEVERAL_LINES else visible
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + shown(child)
        else:
            made.text = (made.text or "") + shown(child)
    return made


def card(title: str, *content: Element) -> Element:
    """A section with a heading."""
    return element("section", element("h3", title), *content, class_="card")


def table(
    header: Iterable[str | Element],
    rows: Iterable[Sequence[str | Element]],
    caption: str,
    class_: str = "",
) -> Element:
    """A table whose first column heads its rows; it scrolls by itself where it is too wide."""
    body = [
        element("tr", element("th", first, scope="row"), *(element("td", cell) for cell in cells))
        for first, *cells in rows
    ]
    return element(
        "div",
        element(
            "table",
            # Inside, so that it stays in sight where the table is scrolled.
            element("caption", element("span", caption)),
            element("thead", element("tr", *(element("th", h, scope="col") for h in header))),
            element("tbody", *body),
            class_=class_,
        ),
        class_="scroll",
    )


def document(page: Element) -> str:
    """The page as a string."""
    return "<!DOCTYPE html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def tree(part: Element) -> list[Any]:
    """An element as JSON has it: `[tag, attributes, children]`; a child is text or such a list."""
    children: list[Any] = [part.text] if part.text else []
    for child in part:
        children.append(tree(child))
        if child.tail:
            children.append(child.tail)
    return [part.tag, dict(part.attrib), children]
