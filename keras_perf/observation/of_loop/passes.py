"""How often a loop goes through its data."""

from __future__ import annotations

import weakref
from typing import Any


class Passes:
    """Counts iterators over the dataset of the first one, each but the last read to its end."""

    def __init__(self) -> None:
        self._dataset: weakref.ref[Any] | None = None
        self._begun = self._ended = 0
        self._others = False

    def begins(self, dataset: Any) -> None:
        """An iterator over this dataset is read from now on; None where it is not known."""
        if self._dataset is None and dataset is not None:
            self._dataset = weakref.ref(dataset)
        self._begun += 1
        self._others |= self._dataset is None or self._dataset() is not dataset

    def ends(self) -> None:
        """It has come to the end of its data."""
        self._ended += 1

    @property
    def number(self) -> int | None:
        """None where another dataset was read too, or one not to its end: that is no pass."""
        whole = not self._others and self._ended >= self._begun - 1
        return self._begun if self._begun and whole else None
