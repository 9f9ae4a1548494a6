"""Loops whose train step Python runs, operation by operation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import keras
import tensorflow as tf

FIRST_CALLS = 8
"""Of which one that traces nothing is looked at."""

_OF_A_STEP = {
    inspect.unwrap(keras.layers.Layer.__call__).__code__,
    inspect.unwrap(tf.GradientTape.gradient).__code__,
}
"""Python's code of a step that is run by Python: in a `tf.function` it runs only to be traced."""


class PythonSteps:
    """Told by the code that Python runs in one of the first calls, in which nothing is traced.

    Arguments:
        traced_s: seconds that were spent on tracing so far; None where that is not told.

    Attributes:
        found: it is so.

    What it cannot see: steps in other threads, as those of several replicas; anything while
    another profiler of Python's has the thread.
    """

    def __init__(self, traced_s: Callable[[], float | None]) -> None:
        self.found = False
        self._traced_s, self._left = traced_s, FIRST_CALLS
        self._before_s: float | None = None
        self._seen: set[CodeType] = set()

    def call_begins(self) -> None:
        """A call begins, in this thread."""
        if self._left and sys.getprofile() is None:
            self._left -= 1
            self._seen.clear()
            self._before_s = self._traced_s()
            if self._before_s is not None:
                sys.setprofile(self._called)

    def call_ends(self) -> None:
        """It has ended, or has raised."""
        if self._before_s is None:
            return
        if sys.getprofile() == self._called:
            sys.setprofile(None)
        if self._traced_s() == self._before_s:
            self._left = 0
            self.found = self._seen == _OF_A_STEP
        self._before_s = None

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in _OF_A_STEP:
            self._seen.add(frame.f_code)
