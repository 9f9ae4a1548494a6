"""The form of what is told in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from keras_perf.records.interval import PARTS, part_name
from keras_perf.report.text.forms import Form, Row
from keras_perf.showing import html
from keras_perf.showing.colours import PART_COLOURS


def coloured(parts: Mapping[str, float]) -> dict[str, tuple[float, str]]:
    """Parts of a step by the names that are shown, each with its colour; only those there are."""
    return {
        part_name(part): (parts[part], PART_COLOURS[part])
        for part in PARTS
        if parts.get(part, 0.0) > 0
    }


class Html(Form):
    """For a notebook's cell: foreign text is text, never markup.

    Arguments:
        bars: parts by name, each a size and a colour; drawn to one scale above the first table.
    """

    def __init__(self, bars: Sequence[Mapping[str, tuple[float, str]]] = ()) -> None:
        super().__init__()
        self._bars = bars

    def __str__(self) -> str:
        return html.whole(self._blocks)

    def title(self, text: str) -> None:
        """A heading."""
        self._add(html.heading(text))

    def paragraph(self, text: str) -> None:
        """A paragraph."""
        self._add(html.paragraph(text))

    def table(self, header: Row, rows: Sequence[Row], title: str = "") -> None:
        """A table, below a heading if it has a title."""
        self._draw_bars()
        self._add(*([html.section(title)] if title else []), html.table(header, rows))

    def advice(self, title: str, id: str, gain: str, reason: str, action: str) -> None:
        """A heading, a paragraph and a block of code."""
        self._add(html.section(f"{title} [{id}]: {gain}"))
        self.paragraph(reason)
        self._add(html.code(action))

    def notes(self, notes: Iterable[str]) -> None:
        """A list."""
        self._add(html.listing(notes))

    def _draw_bars(self) -> None:
        bars, self._bars = self._bars, ()
        longest = max((sum(size for size, _ in bar.values()) for bar in bars), default=0.0)
        if longest > 0:
            self._add(*(html.stack(bar, longest) for bar in bars))
            self._add(html.swatches({name: part for bar in bars for name, part in bar.items()}))
