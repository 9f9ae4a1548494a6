"""The numbers of batches that hooks are told while several trainings run in turn."""

from __future__ import annotations


class BatchNumbers:
    """They count on from one training to the next, as callbacks do that all of these share.

    Behind the last batch of an epoch the first one follows, where an epoch's length is known.

    Attributes:
        of_epoch: batches of an epoch; None where not known.
    """

    def __init__(self) -> None:
        self.of_epoch: int | None = None
        self._next = 0

    def take(self, batches: int) -> int:
        """The first number of so many, which follow each other in an epoch."""
        first = self._next
        if self.of_epoch is not None and first + batches > self.of_epoch:
            first = 0
        self._next = first + batches
        return first
