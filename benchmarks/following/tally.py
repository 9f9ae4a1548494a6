"""What came of the programs of one kind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

CLOSE = 0.15


@dataclass
class Tally:
    """Counts, and names of what must not be."""

    programs: int = 0
    right: int = 0
    later: int = 0
    later_right: int = 0
    gains: int = 0
    inside: int = 0
    close: int = 0
    taken: int = 0
    ended: int = 0
    left_to_a_person: int = 0
    circles: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)

    def judge(self, right: bool | None, *, later: bool) -> None:
        """A verdict; what is not known of a later one is not counted."""
        if not later:
            self.programs += 1
            self.right += bool(right)
        elif right is not None:
            self.later += 1
            self.later_right += right

    def gain(self, predicted: float, *, inside: bool, measured: float, taken: bool) -> None:
        """One that was predicted and measured."""
        self.gains += 1
        self.inside += inside
        self.close += abs(predicted / measured - 1) <= CLOSE
        self.taken += taken

    def end(self, *, left: bool) -> None:
        """Nothing is advised, or only what a person has to write."""
        self.ended += 1
        self.left_to_a_person += left

    def row(self, kind: str) -> dict[str, Any]:
        """What it came to."""
        return {
            "kind": kind,
            "programs": self.programs,
            "right_verdicts": self.right,
            "later_verdicts": self.later,
            "later_right": self.later_right,
            "gains": self.gains,
            "inside_interval": self.inside,
            "within_15_pct": self.close,
            "taken": self.taken,
            "ended": self.ended,
            "left_to_a_person": self.left_to_a_person,
            "circles": ", ".join(self.circles) or "none",
            "contradictions": "; ".join(self.contradictions) or "none",
        }
