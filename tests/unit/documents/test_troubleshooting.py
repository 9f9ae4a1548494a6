"""What troubleshooting quotes is what the program says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from pages import DOCS, ROOT

OF_TENSORFLOW = {"CUPTI could not be loaded or symbol could not be found"}
FILLED_IN = "\0"
"""In a text of the program: a value, which holds no blank."""


def texts_of_the_program() -> Iterator[str]:
    """Its string literals but docstrings, with `FILLED_IN` for each value."""
    for path in (ROOT / "keras_perf").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if id(node) in documents:
                continue
            if isinstance(node, ast.JoinedStr):
                yield "".join(str(getattr(part, "value", FILLED_IN)) for part in parts_of(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.sub(r"%(?:\.\d)?[sdrf]|\{\w*\}", FILLED_IN, node.value)


def parts_of(text: ast.JoinedStr) -> Iterator[ast.expr | None]:
    """Its constants, and None for each value."""
    for part in text.values:
        yield part if isinstance(part, ast.Constant) else None


def begins(text: str, quoted: str) -> bool:
    """The text, filled in, begins so."""
    for at, letter in enumerate(text[: len(quoted)]):
        if letter == FILLED_IN:
            value = re.match(r"\S*", quoted[at:])[0]
            ends = range(at + 1, at + len(value) + 1)
            return any(begins(text[at + 1 :], quoted[end:]) for end in ends)
        if letter != quoted[at]:
            return False
    return len(text) >= len(quoted)


def says(text: str, quoted: str) -> bool:
    """Each piece of what is quoted, which `…` parts, is in the text once that is filled in."""
    pieces = quoted.split("…")
    return all(any(begins(text[at:], each) for at in range(len(text))) for each in pieces)


def test_each_message_that_is_quoted_is_one_of_the_program():
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r'\*"([^"]+)"\*|^## "([^"]+)"', page, re.MULTILINE)
    messages = {" ".join((inside or title).split()) for inside, title in quoted}
    assert len(messages) > 5
    assert messages >= OF_TENSORFLOW
    texts = set(texts_of_the_program())
    assert [
        message
        for message in sorted(messages - OF_TENSORFLOW)
        if not any(says(text, message) for text in texts)
    ] == []


@pytest.mark.parametrize(
    ("text", "quoted", "said"),
    [
        ("keras_perf: \0 opens \0:// (now)", "opens s3://", True),
        ("keras_perf: \0 opens \0:// (now)", "opens s3:/ (now)", False),
        ("\0 cannot be read (\0); again", "cannot be read (…); again", True),
        ("\0 cannot be read", "cannot be read; again", False),
        ("\0: \0", "many words", False),
    ],
)
def test_what_is_filled_in_is_one_word(text, quoted, said):
    assert says(text, quoted) is said
