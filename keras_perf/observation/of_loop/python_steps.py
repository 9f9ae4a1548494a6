"""Loops whose train step Python runs, operation by operation."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import keras
import tensorflow as tf

LOOKED_AT = 4
"""Calls at most, of which one that traces nothing tells."""


def _code(of: Callable[..., Any]) -> CodeType | None:
    """None where it is not written in Python: then no step is looked at."""
    return getattr(inspect.unwrap(of), "__code__", None)


_OF_A_STEP = {_code(keras.layers.Layer.__call__), _code(tf.GradientTape.gradient)}
"""Python's code of a step that is run by Python: in a `tf.function` it runs only to be traced."""
_COMPILED = _code(type(tf.function(lambda: None)).__call__)
"""What runs where a part of it is in a `tf.function`."""


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
        known = None not in (*_OF_A_STEP, _COMPILED)
        self._traced_s, self._left, self._process = traced_s, LOOKED_AT * known, os.getpid()
        self._before_s: float | None = None
        self._seen: set[CodeType | None] = set()

    def call_begins(self) -> None:
        """A call begins, in this thread."""
        if self._left and sys.getprofile() is None:
            self._left -= 1
            self._seen.clear()
            self._before_s = self._traced_s()
            if self._before_s is not None:
                sys.setprofile(self._called)

    def call_ends(self) -> None:
        """It has ended."""
        before_s = self._before_s
        self.looks_no_more()
        if before_s is not None and self._traced_s() == before_s:
            self._left = 0
            self.found = self._seen == _OF_A_STEP

    def looks_no_more(self) -> None:
        """Gives the thread back."""
        self._before_s = None
        if sys.getprofile() == self._called:
            sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if os.getpid() != self._process:
            # A child that the call has forked.
            sys.setprofile(None)
        elif event == "call" and (frame.f_code in _OF_A_STEP or frame.f_code is _COMPILED):
            self._seen.add(frame.f_code)
