"""Foreign text as one line that shows what is in it.

Names of callbacks, stages, hosts and directories come from outside, and may hold what moves a
terminal's cursor, turns the direction of writing round, ends a line or is no character at all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any


def visible(text: str) -> str:
    r"""The text with everything that cannot be seen written out, as `repr` does.

    Control, direction and format characters, ends of lines, spaces other than the usual one and
    surrogates become `\x1b`, `\u202e`, `\n` and the like. What can be seen stays as it is, also a
    backslash: `visible` of its own result changes nothing.

    What it cannot do: tell a name that held an escape character from one that held the four
    characters `\x1b`.

    >>> visible("tidy")
    'tidy'
    >>> print(visible("two\nlines, \x1b[31mred"))
    two\nlines, \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def visible_lines(text: str) -> str:
    """The same line by line, for text of ours that has several."""
    return "\n".join(map(visible, text.split("\n")))


def visible_record(value: Any) -> Any:
    """A record as JSON gives it, with every name and text in it visible.

    Arguments:
        value: mappings, lists, strings and numbers.
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible_record(key): visible_record(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [visible_record(item) for item in value]
    return value


def keep_to_one_line(record: logging.LogRecord) -> bool:
    """A filter for our logger: whatever a warning names, it stays one line."""
    record.msg, record.args = visible(record.getMessage()), None
    return True
