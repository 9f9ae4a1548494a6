"""Loops whose calls read several iterators in turn."""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any

FEW_STEPS = 20
"""Of no more in a row on one iterator, the loop reads several in turn."""

OFTEN = 20
"""So many times one after the other it was so."""


class InTurn:
    """Whether it is so, which would make an epoch of every few steps."""

    def __init__(self) -> None:
        self._met: deque[weakref.ref[Any]] = deque(maxlen=4)
        self._steps = self._times = 0

    def goes_on(self, steps: int) -> None:
        """Another call on the same iterator runs so many."""
        self._steps += steps

    def comes(self, iterator: Any, steps: int) -> None:
        """The next call, of so many steps, reads another iterator than the one before.

        Raises:
            ValueError: too often it is one that was read before.
        """
        again = any(met() is iterator for met in self._met)
        self._times = self._times + 1 if again and self._steps <= FEW_STEPS else 0
        self._steps = steps
        if not again:
            self._remember(iterator)
        if self._times >= OFTEN:
            raise ValueError(
                "execution must be given one iterator, got several in turn. Put all calls of a "
                "step into one `with monitor.execution(...)`"
            )

    def _remember(self, iterator: Any) -> None:
        """An iterator that nobody can refer to weakly is never known again."""
        try:
            self._met.append(weakref.ref(iterator))
        except TypeError:
            return
