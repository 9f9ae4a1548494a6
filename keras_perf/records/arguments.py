"""Checks of arguments that every room has: one line with the rule, the value and the remedy.

NumPy's numbers are numbers, and are given back as Python's, which JSON can write.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import TypeGuard


def require_number(name: str, value: object, *, above: float, remedy: str) -> float:
    """`value`, if it is a number above `above`.

    Raises:
        TypeError: not a number.
        ValueError: not above, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}. {remedy}")
    if not above < (found := float(value)) < math.inf:
        raise ValueError(f"{name} must be above {above:g} and finite, got {value!r}. {remedy}")
    return found


def require_int(name: str, value: object, least: int, remedy: str) -> int:
    """`value`, if it is an int of at least `least`; `remedy` is empty or begins with a space.

    Raises:
        TypeError: no int.
        ValueError: too small.
    """
    if not is_whole(value):
        raise TypeError(f"{name} must be an int, got {type(value).__name__} {value!r}.{remedy}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.{remedy}")
    return int(value)


def require_count(name: str, value: object) -> int:
    """`value`, if it is a whole number of at least 1.

    Raises:
        ValueError: it is not.
    """
    if not is_whole(value) or value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}. Give whole numbers.")
    return int(value)


def require_counts(name: str, values: object, remedy: str) -> list[int]:
    """`values`, if they are whole numbers of at least 1, and there is one.

    Raises:
        TypeError: not several values.
        ValueError: none, or one that is too small or not whole.
    """
    if isinstance(values, str | bytes | Mapping) or not _has_elements(values):
        got = f"{type(values).__name__} {values!r}"
        raise TypeError(f"{name} must be a list of whole numbers, got {got}. {remedy}")
    found = [require_count(name, each) for each in values]
    if not found:
        raise ValueError(f"{name} must hold a number, got none. {remedy}")
    return found


def _has_elements(values: object) -> TypeGuard[Iterable[object]]:
    """An array without axes has a method for it, and none."""
    try:
        iter(values)  # type: ignore[call-overload]
    except TypeError:
        return False
    return True


def is_whole(value: object) -> TypeGuard[int]:
    """A whole number, NumPy's too; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_bool(name: str, value: object) -> bool:
    """`value`, if it is True or False.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__} {value!r}.")
    return value


def existing_directory(name: str, value: str | os.PathLike[str] | None) -> Path | None:
    """`value`, if it is one; None stays None.

    Raises:
        TypeError: no path.
        ValueError: nothing is there, or no directory.
    """
    if value is None:
        return None
    folder = Path(value)
    if not os.fspath(value) or not folder.is_dir():
        raise ValueError(f"{name} must be an existing directory, got {str(value)!r}.")
    return folder
