"""How the figures of pauses are shown, in shares of a step and in milliseconds."""

from __future__ import annotations

from typing import Any

from shown_figures.parts import Found, source, table

SHORT_MS = 5.0
"""The longest step that is told in milliseconds: longer ones vary by more than they save."""

TOLD_MS = (30, 3)
"""The pauses that are told in milliseconds."""


def pauses(found: Found) -> str:
    """The share of a step that goes with a pause, and what that is in milliseconds."""
    rows = found["tables"]["saved"]
    shown = table(rows, **{key: key.replace("_", " ") for key in rows[0]})
    short = [row for row in rows if row["step_ms"] <= SHORT_MS]
    lengths = [row["step_ms"] for row in short]
    saved = ", ".join(
        f"{_range(_saved_ms(short, ms))} without its pause of {ms} ms" for ms in TOLD_MS
    )
    told = f"A step of {_range(lengths)} saves {saved}."
    return f"{source(found)}:\n\n{shown}\n\n{told}"


def _saved_ms(rows: list[dict[str, Any]], pause_ms: int) -> list[float]:
    """Of callbacks that work and that wait, from the share of a step behind a pause."""
    keys = [f"{kind}_{pause_ms}_ms_saved_pct" for kind in ("works", "waits")]
    return [row["step_ms"] * row[key] / (100 - row[key]) for row in rows for key in keys]


def _range(found: list[float]) -> str:
    return f"{min(found):.1f} to {max(found):.1f} ms"
