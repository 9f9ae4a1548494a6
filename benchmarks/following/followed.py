"""A program in which advice is followed to the letter, and when that goes in circles."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from followed_programs.program import Program

from following.input_changes import INPUT_CHANGES
from following.training_changes import TRAINING_CHANGES

LONGER = 4
"""So many times as long is a program trained that has become too short to be measured."""


def followed(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """The program with this advice taken to the letter; None where only a person could.

    Arguments:
        program: that was diagnosed.
        advice: a `Recommendation`.
        stages: names of the running pipeline's stages, from the source on.
    """
    if advice.id in INPUT_CHANGES:
        return INPUT_CHANGES[advice.id](program, advice, stages)
    change = TRAINING_CHANGES.get(advice.id)
    return None if change is None else change(program, advice)


def lengthened(program: Program) -> Program | None:
    """The same on more data; None where there is as much as there is."""
    return replace(program, times=LONGER * program.times) if program.times else None


@dataclass
class Trail:
    """What was followed, of one program."""

    actions: set[tuple[str, str]] = field(default_factory=set)
    numbers: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def leads_back(self, advice: Any) -> bool:
        """Whether it is there already: followed to the letter, or its number goes to and fro."""
        if (advice.id, advice.action) in self.actions:
            return True
        number, before = advice.evidence.get("advised"), self._numbers(advice)
        if number is None or not before:
            return False
        pairs = zip(before, [*before[1:], number], strict=True)
        return number in before or len({later > earlier for earlier, later in pairs}) > 1

    def add(self, advice: Any) -> None:
        """It is followed now."""
        self.actions.add((advice.id, advice.action))
        if (number := advice.evidence.get("advised")) is not None:
            self.numbers[_subject(advice)] = [*self._numbers(advice), number]

    def _numbers(self, advice: Any) -> list[float]:
        """What was there first, and what was followed since."""
        present = advice.evidence.get("present")
        return self.numbers.get(_subject(advice), [] if present is None else [present])


def _subject(advice: Any) -> tuple[str, str]:
    """What the number is of."""
    return advice.id, str(advice.evidence.get("owner") or "")
