"""Whether a function of the user's draws random numbers in Python, where no graph shows it."""

from __future__ import annotations

import functools
import sysconfig
from collections.abc import Iterator
from inspect import getattr_static, unwrap
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from keras_perf.observation.facts.source_lines import LIBRARIES, code_of

MOST = 50
"""Functions and objects that are looked at."""

DRAWS = frozenset(
    {"random", "rng", "rand", "randn", "randint", "choice", "shuffle", "permutation", "default_rng"}
)
"""Names that functions which draw have in their code; `random` is NumPy's and Python's module."""

AUGMENTERS = (
    "random",
    "numpy.random",
    "albumentations",
    "imgaug",
    "audiomentations",
    "torchvision",
)
"""Modules whose objects draw when they are called or asked."""

_INSTALLED = (*LIBRARIES, *(sysconfig.get_path(each) for each in ("stdlib", "purelib", "platlib")))


def draws_in_python(function: Any) -> bool:
    """A function, or one that it names, draws: by the names in its code, which is not run.

    A drawing that is hidden in a library or behind another name is not seen.
    """
    try:
        return any(_draws(each) for each in _reached(function))
    except Exception:  # noqa: BLE001  the user's objects may answer as they like
        return False


def _reached(function: Any) -> Iterator[Any]:
    """The function and all that it names, and so on, through the user's own code."""
    pending: list[Any] = [function]
    seen: set[int] = set()
    while pending and len(seen) < MOST:
        each = pending.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        code = _own_code(each)
        if code is not None:
            pending += _named(each, code)


def _own_code(each: Any) -> CodeType | None:
    """Of the user's functions; None of all else."""
    callables = (FunctionType, MethodType, functools.partial)
    if not isinstance(each, callables) and not hasattr(each, "python_function"):
        return None
    code = code_of(each)
    return None if code is None or code.co_filename.startswith(_INSTALLED) else code


def _named(function: Any, code: CodeType) -> list[Any]:
    names, found = _names(code), []
    if isinstance(function, MethodType):
        found += [_held(function.__self__, name) for name in names]
    inner = unwrap(getattr(function, "__func__", function))
    spaces = getattr(inner, "__globals__", {})
    cells = [cell.cell_contents for cell in getattr(inner, "__closure__", None) or ()]
    return [*found, *cells, *(spaces[name] for name in names if name in spaces)]


def _held(owner: Any, name: str) -> Any:
    """An attribute or a method; a property is not asked, for it could draw."""
    found = getattr_static(owner, name, None)
    return MethodType(found, owner) if isinstance(found, FunctionType) else found


def _names(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _draws(each: Any) -> bool:
    kind = each.__name__ if isinstance(each, ModuleType) else type(each).__module__
    if kind.startswith(AUGMENTERS):
        return True
    code = _own_code(each)
    return code is not None and not DRAWS.isdisjoint(_names(code))
