"""One line for each thing below a log directory that could not be read."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from keras_perf.records.text.visible import visible

_told: ContextVar[set[str] | None] = ContextVar("told", default=None)


class LeftOutWarning(UserWarning):
    """Something below a log directory cannot be read or cannot be true, and was left out."""


@contextmanager
def once_each(told: set[str]) -> Iterator[None]:
    """Inside of it, in this thread, each thing has one line; `told` knows those that had it."""
    before = _told.set(told)
    try:
        yield
    finally:
        _told.reset(before)


def warn_left_out(what: str, *, thing: str = "") -> None:
    """Warns with a place of ours that has no source: Python would print a line of code.

    Arguments:
        what: the line.
        thing: what it is about, where figures in the line grow.
    """
    told = _told.get()
    if told is not None:
        if (thing or what) in told:
            return
        told.add(thing or what)
    warnings.warn_explicit(visible(what), LeftOutWarning, "<keras_perf>", 0)
