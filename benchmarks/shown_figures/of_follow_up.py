"""How the follow-up's figures are shown, and whether they reach their aims."""

from __future__ import annotations

from typing import Any

from shown_figures.parts import Found, reached, tables

AIM_INSIDE_PCT = 90
AIMS = (
    ("the first verdicts right", "right_verdicts", "programs", 95),
    (
        "the measured gains inside the interval, which states 80%",
        "inside_interval",
        "gains",
        AIM_INSIDE_PCT,
    ),
)


def follow_up(found: Found) -> str:
    """Verdicts and predictions that were right, and whether advice came to an end."""
    titles = {
        "kind": "programs",
        "right_verdicts": "right verdicts",
        "programs": "of",
        "later_right": "right once advice was followed",
        "later_verdicts": "of those that can be judged",
        "inside_interval": "gains inside the predicted interval",
        "within_15_pct": "within ±15%",
        "taken": "seen as followed by `compare`",
        "gains": "of measured gains",
        "ended": "programs whose advice ended",
        "left_to_a_person": "with something left to a person",
        "circles": "advised again though followed",
        "contradictions": "contradictions",
    }
    sums = found["tables"]["sums"]
    aims = [_share(sums, *aim) for aim in AIMS]
    wrong = [each[key] for each in sums for key in ("circles", "contradictions")]
    none = all(each == "none" for each in wrong)
    ends = reached("no circle, no contradiction", "none" if none else "see the table", none)
    return "\n\n".join([tables({"sums": titles}, found), *aims, ends])


def _share(rows: list[dict[str, Any]], what: str, good: str, of_all: str, aim_pct: int) -> str:
    """Whether so many percent are, over all rows."""
    number, whole = (sum(row[key] for row in rows) for key in (good, of_all))
    return reached(f"{aim_pct}% of {what}", f"{number} of {whole}", 100 * number >= aim_pct * whole)
