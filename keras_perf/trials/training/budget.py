"""The time that trials may take."""

from __future__ import annotations

from collections.abc import Callable

PAIR_S = 1.2, 4.0
"""Seconds for a pair, at least and at most."""

FOR_ALL = 0.35
"""Share of the time that is kept for putting together what is good alone."""

WITH_XLA = 6.0
"""XLA takes so many times as long as tracing and the first execution do without it.

Five models of tests and examples: 4.1 to 9.9 times.
"""


class Making:
    """What it takes to make a train function, as learned from those that were made."""

    def __init__(self) -> None:
        self._longest: dict[bool, float] = {}

    def took(self, seconds: float, *, compiled: bool) -> None:
        """One was made, or was there already; `compiled` if XLA has compiled its steps."""
        self._longest[compiled] = max(seconds, self._longest.get(compiled, 0.0))

    def takes_s(self, *, compiled: bool) -> float:
        """Seconds for another one; 0 where none was made yet."""
        plain = self._longest.get(False, self._longest.get(True, 0.0))
        return self._longest.get(True, WITH_XLA * plain) if compiled else plain


class Budget:
    """Seconds that are spent from now on.

    Arguments:
        seconds: at most; what is being measured when they are over is finished.
        clock: seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self.seconds, self._clock, self._begin = seconds, clock, clock()

    @property
    def spent_s(self) -> float:
        """Until now."""
        return self._clock() - self._begin

    @property
    def left_s(self) -> float:
        """From now on; below 0 where more was spent."""
        return self.seconds - self.spent_s

    @property
    def left_alone_s(self) -> float:
        """For changes that are tried alone."""
        return self.left_s - FOR_ALL * self.seconds

    @staticmethod
    def for_a_pair(left_s: float, pairs: int) -> float:
        """Seconds for one of so many that are to come."""
        least, most = PAIR_S
        return min(most, max(least, left_s / max(1, pairs)))
