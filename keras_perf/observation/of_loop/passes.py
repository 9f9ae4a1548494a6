"""How long a loop's passes through its data are."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import Any

from keras_perf.observation.input_model import InputModel
from keras_perf.observation.of_loop.fetches_outside import handed_out


class Passes:
    """Of the dataset of the first iterator, if each iterator but the last is read to its end."""

    def __init__(self) -> None:
        self._dataset: weakref.ref[Any] | None = None
        self._begun = self._ended = self._steps = 0
        self._others = False
        self._begun_at, self._elements = 0, math.inf

    def begins(self, dataset: Any, step: int = 0, pipeline: InputModel | None = None) -> None:
        """An iterator over this dataset is read from this step on; None where it is not known.

        Arguments:
            dataset: of the iterator.
            step: optimizer steps before.
            pipeline: tells how many elements the iterator has handed out already.
        """
        self._begun_at = step
        self._elements = _elements_of(dataset) - (handed_out(pipeline) or 0)
        if self._dataset is None and dataset is not None:
            self._dataset = weakref.ref(dataset)
        self._begun += 1
        self._others |= self._dataset is None or self._dataset() is not dataset

    def ends(self, steps: int) -> None:
        """It has come to the end of its data, so many steps after the loop began."""
        self._ended, self._steps = self._ended + 1, steps

    def left(self, step: int, each: float) -> float:
        """How many more steps have their elements, of so many each; infinity where not known."""
        return max(0.0, self._elements / each - (step - self._begun_at))

    @property
    def steps(self) -> float:
        """Of one; 0 where another dataset was read too, or one not to its end: that is no pass."""
        whole = not self._others and 0 < self._ended >= self._begun - 1
        return self._steps / self._ended if whole else 0.0


def _elements_of(dataset: Any) -> float:
    """Of a pass; infinity where they do not end, or TensorFlow does not know."""
    with contextlib.suppress(Exception):
        known = int(dataset.cardinality())
        return known if known >= 0 else math.inf
    return math.inf
