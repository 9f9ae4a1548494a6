"""Pieces of HTML for a notebook's cell, with their styles in them: nothing leaks into the notebook.

Everything that comes in is plain text: what cannot be seen in it is written out, and markup is
escaped.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence

from keras_perf.records.text.visible import visible, visible_lines
from keras_perf.showing.colours import TRIAL

_LINE = "border-bottom: 1px solid rgba(128,128,128,.3);"


def escaped(text: str) -> str:
    """Plain text as it has to stand in HTML to be shown as it is."""
    return html.escape(visible(text))


def whole(pieces: Iterable[str]) -> str:
    """All of them, one below the other."""
    return f'<div style="max-width: 60em; line-height: 1.45">{"".join(pieces)}</div>\n'


def heading(text: str) -> str:
    """What all of it is about."""
    return f'<div style="font-size: 1.2em; font-weight: 600">{escaped(text)}</div>'


def section(text: str) -> str:
    """What the next piece is about."""
    return f'<div style="font-weight: 600; margin-top: .8em">{escaped(text)}</div>'


def paragraph(text: str) -> str:
    """A sentence or several."""
    return f'<p style="margin: .4em 0">{escaped(text)}</p>'


def code(text: str) -> str:
    """Code to paste."""
    shown = html.escape(visible_lines(text))
    return f'<pre style="margin: .3em 0 .3em 1.2em; white-space: pre-wrap">{shown}</pre>'


def listing(items: Iterable[str]) -> str:
    """A list; "" of nothing."""
    shown = "".join(f"<li>{escaped(each)}</li>" for each in items)
    return f'<ul style="margin: .4em 0; padding-left: 1.2em">{shown}</ul>' if shown else ""


def table(header: Sequence[str], rows: Iterable[Sequence[str]], bars: Sequence[float] = ()) -> str:
    """A table whose columns but the first hold figures.

    Arguments:
        header: the columns' names.
        rows: the cells below.
        bars: of each row the length of a bar behind it, the longest of 1; none where empty.
    """
    lines = [_row("th", header, extra="<th></th>" if bars else "")]
    for place, row in enumerate(rows):
        extra = f'<td style="width: 12em">{_bar(bars[place])}</td>' if bars else ""
        lines.append(_row("td", row, extra))
    style = "border-collapse: collapse; margin: .4em 0"
    return f'<table style="{style}">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[str], extra: str) -> str:
    aligns = ["left", *["right"] * (len(cells) - 1)]
    shown = "".join(
        f'<{tag} style="text-align: {align}; padding: .1em .7em; {_LINE}">{escaped(cell)}</{tag}>'
        for align, cell in zip(aligns, cells, strict=True)
    )
    return f"<tr>{shown}{extra}</tr>"


def _bar(length: float) -> str:
    width = min(1.0, max(0.0, length))
    return f'<div style="width: {width:.1%}; height: .8em; background: {TRIAL}"></div>'


def stack(parts: Mapping[str, tuple[float, str]], full: float) -> str:
    """Parts as one bar, named where one points at them.

    Arguments:
        parts: name → size and colour.
        full: the size that takes the whole width.
    """
    shown = "".join(
        f'<span title="{escaped(f"{name}: {size:.3f} ms")}" style="display: inline-block; '
        f'height: 100%; width: {size / full:.2%}; background: {colour}"></span>'
        for name, (size, colour) in parts.items()
        if size > 0
    )
    bar = f'<div style="height: 1.1em; font-size: 1em; white-space: nowrap">{shown}</div>'
    return f'<div style="margin: .5em 0">{bar}</div>'


def swatches(parts: Mapping[str, tuple[float, str]]) -> str:
    """The names of parts behind their colours."""
    square = "display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 0; background: "
    shown = "".join(
        f'<span style="margin-right: 1em"><span style="{square}{colour}"></span>'
        f"{escaped(name)}</span>"
        for name, (size, colour) in parts.items()
        if size > 0
    )
    return f'<div style="font-size: .9em">{shown}</div>'


def picture(png: bytes, says: str) -> str:
    """An image; `says` is for those who cannot see it."""
    data = base64.b64encode(png).decode()
    return f'<img alt="{escaped(says)}" src="data:image/png;base64,{data}"/>'
