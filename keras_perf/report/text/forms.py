"""The forms of what is told: the one place where text is put together for a reader.

Everything that comes in is plain text: our words with foreign names in them. Each form makes it
harmless for where it is shown, so that nothing that is composed with a form can forget to.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from keras_perf.records.text.visible import visible

Row = Sequence[str]


class Form(ABC):
    """A text that grows block by block; `str` of it is the whole, with a line's end."""

    def __init__(self) -> None:
        self._blocks: list[str] = []

    def __str__(self) -> str:
        return "\n\n".join(self._blocks).rstrip() + "\n"

    def _add(self, *lines: str) -> None:
        self._blocks.append("\n".join(lines))

    def verdict(self, verdict: str, explanation: str) -> None:
        """The verdict and the sentence behind it: a heading and a paragraph."""
        self.title(verdict)
        self.paragraph(explanation[:1].upper() + explanation[1:])

    @abstractmethod
    def title(self, text: str) -> None:
        """What all of it is about."""

    @abstractmethod
    def paragraph(self, text: str) -> None:
        """A sentence or several."""

    @abstractmethod
    def table(self, header: Row, rows: Sequence[Row], title: str = "") -> None:
        """A table; all columns but the first hold figures."""

    @abstractmethod
    def advice(self, title: str, id: str, gain: str, reason: str, action: str) -> None:
        """What to change, why, and the code to paste."""

    @abstractmethod
    def notes(self, notes: Iterable[str]) -> None:
        """A sentence or several each."""


class Terminal(Form):
    r"""For a terminal: whatever could steer it is written out.

    >>> form = Terminal()
    >>> form.table(["stage", "ms"], [["Map \x1b[31m", "1.5"]])
    >>> print(form, end="")
    stage          ms
    ------------  ---
    Map \x1b[31m  1.5
    """

    def verdict(self, verdict: str, explanation: str) -> None:
        """Both in a line."""
        self._add(visible(f"{verdict}: {explanation}"))

    def title(self, text: str) -> None:
        """A line."""
        self.paragraph(text)

    def paragraph(self, text: str) -> None:
        """A line, however long."""
        self._add(visible(text))

    def table(self, header: Row, rows: Sequence[Row], title: str = "") -> None:
        """In columns of one width."""
        shown = [[*map(visible, row)] for row in (header, *rows)]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        shown.insert(1, ["-" * width for width in widths])
        lines = [_columns(row, widths) for row in shown]
        self._add(*([visible(title)] if title else []), *lines)

    def advice(self, title: str, id: str, gain: str, reason: str, action: str) -> None:
        """Reason and code below the title, each further in."""
        code = (f"       {visible(line)}".rstrip() for line in action.splitlines())
        self._add(visible(f"{title} [{id}]  {gain}"), f"   {visible(reason)}", *code)

    def notes(self, notes: Iterable[str]) -> None:
        """A line each."""
        if lines := [f"* {visible(note)}" for note in notes]:
            self._add(*lines)


class Markdown(Form):
    r"""For TensorBoard's Text tab, an issue, a chat: foreign text is text, never markup.

    >>> form = Markdown()
    >>> form.table(["stage", "ms"], [["Map <b>|`", "1.5"]])
    >>> print(form, end="")
    | stage | ms |
    | --- | ---: |
    | Map &lt;b>\|\` | 1.5 |
    """

    def title(self, text: str) -> None:
        """A heading."""
        self._add(f"## {escaped(text)}")

    def paragraph(self, text: str) -> None:
        """A paragraph."""
        self._add(_at_begin(escaped(text)))

    def table(self, header: Row, rows: Sequence[Row], title: str = "") -> None:
        """A pipe table, below a heading if it has a title."""
        if title:
            self._section(escaped(title))
        rule = ["---", *["---:"] * (len(header) - 1)]
        shown = [[*map(escaped, header)], rule, *([*map(escaped, row)] for row in rows)]
        self._add(*("| " + " | ".join(row) + " |" for row in shown))

    def advice(self, title: str, id: str, gain: str, reason: str, action: str) -> None:
        """A heading, a paragraph and a block of code."""
        self._section(f"{escaped(title)} (`{id}`): {escaped(gain)}")
        self.paragraph(reason)
        code = [visible(line) for line in action.splitlines()]
        # A block of code ends at the next fence of its length, which a name may hold.
        fence = "`" * max(3, 1 + max(map(len, re.findall("`+", action)), default=0))
        self._add(f"{fence}python", *code, fence)

    def notes(self, notes: Iterable[str]) -> None:
        """A list."""
        if lines := [f"- {_at_begin(escaped(note))}" for note in notes]:
            self._add(*lines)

    def _section(self, markdown: str) -> None:
        self._add(f"### {markdown}")


class Told(ABC):
    """What can be told in any form."""

    @abstractmethod
    def _told(self, form: Form) -> Form:
        """The same form, with all of it."""

    def to_markdown(self) -> str:
        """For TensorBoard's Text tab, an issue, a chat; names are text in it, never markup."""
        return str(self._told(Markdown()))

    def __str__(self) -> str:
        r"""For a terminal; what cannot be seen in a name is written out, as `\x1b`."""
        return str(self._told(Terminal()))


_MARKUP = re.compile(r"[\\`*|\[\]]|(?<![^\W_])_|_(?![^\W_])")
"""What begins or ends markup inside a line; an underscore between letters does not."""

_BEGINS = re.compile(r"[#>]|[+-](?=[\s-]|$)|\d+[.)](?=\s|$)")
"""What makes a line a heading, a quotation, a rule or an item of a list."""

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", "~": "&#126;"})
"""For what not every reader of Markdown takes a backslash before."""


def escaped(text: str) -> str:
    r"""Plain text as it has to stand in a line of Markdown to be shown as it is.

    What begins a tag or an entity becomes an entity itself, all other markup gets a backslash.

    >>> print(escaped("a|b <i> [x](javascript:y) steps_per_execution _z_"))
    a\|b &lt;i> \[x\](javascript:y) steps_per_execution \_z\_
    """
    return _MARKUP.sub(r"\\\g<0>", visible(text)).translate(_ENTITIES)


def _at_begin(markdown: str) -> str:
    """The same where a block begins, or an item of a list."""
    line = markdown.lstrip()
    if found := _BEGINS.match(line):
        end = found.end() - 1
        return f"{line[:end]}\\{line[end:]}"
    return line


def _columns(row: Row, widths: Sequence[int]) -> str:
    cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
    return "  ".join([row[0].ljust(widths[0]), *cells[1:]]).rstrip()
