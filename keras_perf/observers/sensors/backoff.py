"""When something that has failed is tried again: ever less often."""

from __future__ import annotations

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0


class Backoff:
    """Pauses that double with each failure in a row; times are monotonic seconds."""

    def __init__(self) -> None:
        self._pause_s = 0.0
        self._due = 0.0

    def rests(self, now: float) -> bool:
        """Whether it is too early to try again."""
        return self._pause_s > 0 and now < self._due

    def fails(self, now: float) -> None:
        """It has failed just now."""
        self._pause_s = min(2 * self._pause_s or FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._due = now + self._pause_s

    def answers(self) -> None:
        """It has not."""
        self._pause_s = 0.0
