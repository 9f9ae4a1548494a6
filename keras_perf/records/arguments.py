"""Checks of arguments that every room has: one line with the rule, the value and the remedy."""

from __future__ import annotations

import math
import os
from pathlib import Path


def require_number(name: str, value: object, *, above: float, remedy: str) -> float:
    """`value`, if it is a number above `above`.

    Raises:
        TypeError: not a number.
        ValueError: not above, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}. {remedy}")
    if not above < value < math.inf:
        raise ValueError(f"{name} must be above {above:g} and finite, got {value!r}. {remedy}")
    return float(value)


def require_int(name: str, value: object, least: int, remedy: str) -> int:
    """`value`, if it is an int of at least `least`; `remedy` is empty or begins with a space.

    Raises:
        TypeError: no int.
        ValueError: too small.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, got {type(value).__name__} {value!r}.{remedy}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.{remedy}")
    return value


def require_count(name: str, value: object) -> None:
    """Raises ValueError unless `value` is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be at least 1, got {value!r}. Give whole numbers.")


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
    if not folder.is_dir():
        raise ValueError(f"{name} must be an existing directory, got {str(value)!r}.")
    return folder
