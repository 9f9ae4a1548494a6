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
)
"""Lines with these say where TensorFlow failed, not why."""

MOST = 200


def told(error: Exception) -> str:
    """The kind of error, and the line of its text that says most."""
    lines = [line.strip() for line in str(error).splitlines()]
    saying = [line for line in lines if line and not line.startswith(WHERE)]
    line = saying[0] if saying else "".join(lines[:1])
    return f"{type(error).__name__}: {line[:MOST]}".rstrip(": ")
