"""Why something could not be tried, in a line."""

from __future__ import annotations

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
"""Lines with these say where TensorFlow failed, not why."""

MOST = 200


def told(error: Exception) -> str:
    """The kind of error, and the line of its text that says most."""
    return f"{type(error).__name__}: {line_that_says_most(str(error))}".rstrip(": ")


def line_that_says_most(text: str) -> str:
    """Of an error's text; "" if there is none."""
    lines = [line.strip() for line in text.splitlines()]
    saying = [line for line in lines if line and not line.startswith(WHERE)]
    return (saying[0] if saying else "".join(lines[:1]))[:MOST]
