"""One line for each thing below a log directory that could not be read."""

from __future__ import annotations

import warnings

from keras_perf.records.text.visible import visible


class LeftOutWarning(UserWarning):
    """Something below a log directory cannot be read or cannot be true, and was left out."""


def warn_left_out(what: str) -> None:
    """Warns with a place of ours that has no source: Python would print a line of code."""
    warnings.warn_explicit(visible(what), LeftOutWarning, "<keras_perf>", 0)
