"""An error in one line: its kind, and the line of its text that says most."""

from __future__ import annotations

import re

WHERE = (
    "Graph execution error",
    "Detected at node",
    "File ",
    "Stack trace",
    "<stack",
    "[[",
    "[Op:",
    "2 root error(s) found",
)
"""Lines that begin so say where TensorFlow failed, not why."""

TELLING = ("OOM when allocating", "Exception encountered:")
"""Lines with these say most, though TensorFlow and Keras put others before them."""

OF_XLA = re.compile(r"\[_Xla\w+=[^\]]*\]")
"""Attributes of a function that XLA refuses, which TensorFlow tells before it says why."""

LONGEST = 160
"""Characters of what an error says; Keras's tell whole configurations."""


def error_line(error: BaseException) -> str:
    """Its kind, and what it says if it says anything."""
    said, kind = line_that_says_most(text_of(error)), type(error).__name__
    return f"{kind}: {said}" if said else kind


def text_of(error: BaseException) -> str:
    """What it says; "" where its class cannot turn it into text."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  it is another's class
        return ""


def line_that_says_most(text: str) -> str:
    """Of an error's text, with what follows as far as it fits; "" if there is none."""
    lines = [line.strip() for line in OF_XLA.sub("", text).splitlines() if line.strip()]
    saying = [line for line in lines if not line.startswith(WHERE)] or lines[:1]
    telling = (place for place, line in enumerate(saying) if any(word in line for word in TELLING))
    said = " ".join(" ".join(saying[next(telling, 0) :]).split())
    return said if len(said) <= LONGEST else f"{said[:LONGEST].rsplit(' ', 1)[0]} …"
