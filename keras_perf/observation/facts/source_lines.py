"""Where the user's functions stand, as Python knows it: no source is read."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any

from keras_perf.records.run.source_line import SourceLine

LIBRARIES = tuple(
    os.path.dirname(found.origin) + os.sep
    for found in map(find_spec, ("keras", "tensorflow", "jax"))
    if found is not None and found.origin is not None
)
"""Whose functions nobody is told to change."""

MAKERS = {
    "image_dataset_utils.py": "keras.utils.image_dataset_from_directory",
    "text_dataset_utils.py": "keras.utils.text_dataset_from_directory",
    "audio_dataset_utils.py": "keras.utils.audio_dataset_from_directory",
    "timeseries_dataset_utils.py": "keras.utils.timeseries_dataset_from_array",
    "dataset_utils.py": "keras.utils",
}
"""Keras's file with functions that make a dataset → how a user calls it; of labels, any of them."""

MOST_WRAPPERS = 20

_CELL = re.compile(r"<ipython-input-|.*[\\/]ipykernel_\d+[\\/]")


def source_of(function: Any, name: str | None = None) -> SourceLine | None:
    """Where a function, a method, an object that is called, or a running generator is written.

    Decorators that keep `__wrapped__`, `tf.function` and `functools.partial` are looked through.

    Arguments:
        function: of which nothing is known.
        name: is told in place of the function's own.

    Returns:
        None of what is built in, of Keras's and its backend's own, and of code that was typed in.
    """
    try:
        code = code_of(function)
        if code is None or code.co_filename.startswith(LIBRARIES):
            return None
        file = _told(code.co_filename)
    except Exception:  # noqa: BLE001  the user's class or IPython may answer as it likes
        return None
    if file is None:
        return None
    own = code.co_name if code.co_name.isidentifier() else ""
    return SourceLine(file, max(1, code.co_firstlineno), own if name is None else name)


def made_by_keras(function: Any) -> str:
    """What the user called, of a function of Keras's that works on a dataset made there; or ""."""
    try:
        code = code_of(function)
    except Exception:  # noqa: BLE001  the user's class may answer as it likes
        return ""
    if code is None or not code.co_filename.startswith(LIBRARIES):
        return ""
    return MAKERS.get(os.path.basename(code.co_filename), "")


def code_of(function: Any) -> CodeType | None:
    """Of the function inside all wrappers; None of what is not written in Python."""
    for _ in range(MOST_WRAPPERS):
        if isinstance(function, FunctionType):
            inner = getattr(function, "__wrapped__", None)
            if inner is None:
                return function.__code__
            function = inner
        elif isinstance(function, Generator):
            return getattr(function, "gi_code", None)
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif (python_function := getattr(function, "python_function", None)) is not None:
            function = python_function
        else:
            function = type(function).__call__
    return None


def _told(file: str) -> str | None:
    if _CELL.match(file):
        return _cell(file)
    if file.startswith("<"):
        return None
    path = Path(os.path.abspath(file))
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except (OSError, ValueError):
        return "/".join(path.parts[-2:])


def _cell(file: str) -> str:
    """IPython tells the number of the cell whose code it has compiled under this name."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name_of = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)
    found = name_of(file)
    return f"cell {found[1]}" if found else "a cell of the notebook"
