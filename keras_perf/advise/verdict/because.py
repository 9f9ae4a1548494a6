"""Why a verdict is what it is, in sentences."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Because:
    """The sentences behind a verdict; `str` of it is all of them.

    Attributes:
        first: the first sentence, without its subject.
        more: those that follow.
        subject: what takes the time, where the first sentence names it before a colon.
    """

    first: str
    more: str = ""
    subject: str = ""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.subject and f"{self.subject}:", self.first, self.more)))
