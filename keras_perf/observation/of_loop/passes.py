"""How long a loop's passes through its data are."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import Any

import tensorflow as tf

from keras_perf.observation.input_model import InputModel
from keras_perf.observation.of_loop.fetches_outside import handed_out


class Passes:
    """Of the dataset of the first iterator, if each iterator but the last is read to its end.

    Arguments:
        fetches_per_step: how often a step asks the iterator for an element.
    """

    def __init__(self, fetches_per_step: float) -> None:
        self._each = fetches_per_step
        self._dataset: weakref.ref[Any] | None = None
        self._begun = self._ended = self._steps = 0
        self._others = False
        self._begun_at = self._handed_out = 0
        self._elements: float | None = None

    def begins(self, dataset: Any, step: int = 0, pipeline: InputModel | None = None) -> None:
        """An iterator over this dataset is read from this step on; None where it is not known.

        Arguments:
            dataset: of the iterator.
            step: optimizer steps before.
            pipeline: tells how many elements the iterator has handed out already.
        """
        self._begun_at, self._handed_out = step, handed_out(pipeline) or 0
        self._elements = _elements_of(dataset)
        if self._dataset is None and dataset is not None:
            self._dataset = weakref.ref(dataset)
        self._begun += 1
        self._others |= self._dataset is None or self._dataset() is not dataset

    def ends(self, steps: int) -> None:
        """It has come to the end of its data, so many steps after the loop began."""
        self._ended, self._steps = self._ended + 1, steps

    def left(self, step: int) -> float:
        """How many more steps have their elements; infinity where that is not known."""
        if self._elements is None:
            return math.inf
        of_all = (self._elements - self._handed_out) / self._each
        return max(0.0, of_all - (step - self._begun_at))

    def goes_on(self, step: int) -> bool:
        """By its length there is an element for the step after this one."""
        return self._elements is not None and self.left(step) >= 1

    def has_more(self, pipeline: InputModel | None) -> bool:
        """The iterator is known not to have handed out all its elements."""
        handed = handed_out(pipeline)
        return handed is not None and self._elements is not None and handed < self._elements

    def without_data(self, step: int, pipeline: InputModel | None) -> int:
        """How many of the steps until this one found no element; 0 where nothing tells that.

        Elements that are fetched for steps to come hide it.
        """
        handed = handed_out(pipeline)
        if handed is None:
            return 0
        return max(0, step - self._begun_at - int((handed - self._handed_out) / self._each))

    @property
    def fetched_ahead(self) -> int:
        """Steps whose elements may have been fetched before the first call: one, or none."""
        return int(self._handed_out > 0)

    @property
    def steps(self) -> float:
        """Of one; 0 where another dataset was read too, or one not to its end: that is no pass."""
        whole = not self._others and 0 < self._ended >= self._begun - 1
        return self._steps / self._ended if whole else 0.0


def _elements_of(dataset: Any) -> float | None:
    """Of a pass; infinity where they do not end, None where TensorFlow does not know."""
    with contextlib.suppress(Exception):
        known = int(dataset.cardinality())
        if known == tf.data.INFINITE_CARDINALITY:
            return math.inf
        return known if known >= 0 else None
    return None
