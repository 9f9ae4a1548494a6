"""Which line made TensorFlow start its runtime, where that must not have happened yet."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.eager import context as _runtime

_LIBRARIES = (Path(tf.__file__).parent, Path(keras.__file__).parent, Path(__file__).parents[1])
_STANDARD_LIBRARY = Path(os.__file__).parent

UNKNOWN = "before keras_perf.loop was imported, or in a place that is not known"


class EarlyUse:
    """Notes the line at which TensorFlow's runtime starts, from its construction on.

    TensorFlow tells nobody when that happens. The method that does it
    (`tensorflow.python.eager.context.Context.ensure_initialized`, private) is watched until it
    has been called once. Where there is no such method, the place stays unknown.

    Attributes:
        place: `file:line: code` outside of TensorFlow and Keras; None while the runtime has
            not started.
    """

    def __init__(self, context_class: Any, already_runs: bool) -> None:
        self.place: str | None = UNKNOWN if already_runs else None
        original = getattr(context_class, "ensure_initialized", None)
        if already_runs or original is None:
            return

        def noting(context: Any) -> None:
            context_class.ensure_initialized = original
            self.place = _calling_line()
            original(context)

        context_class.ensure_initialized = noting


def _calling_line() -> str:
    for frame in reversed(traceback.extract_stack()):
        path = Path(frame.filename)
        between = path.parent == _STANDARD_LIBRARY or frame.filename.startswith("<frozen")
        if not between and not any(library in path.parents for library in _LIBRARIES):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return UNKNOWN


def _runs(context: Any) -> bool:
    return bool(getattr(context, "_initialized", False))


early_use = EarlyUse(getattr(_runtime, "Context", None), _runs(_runtime.context()))
"""Of this process, watched from the import of this module on."""
