"""What a value read from JSON must look like, put together from a few words.

A shape is a function from a value to the value as its readers expect it; it raises
`WrongShapeError` for any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any], Any]

MOST = 1e15
"""No figure of a training is larger: a petabyte, or thirty million years in milliseconds."""


class WrongShapeError(ValueError):
    """The value is not what its readers expect."""


def number(least: float = 0.0, most: float = MOST) -> Shape:
    """A finite number between two bounds, or one written as text, as NumPy's are."""

    def shaped(value: Any) -> float:
        try:
            found = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            found = math.nan
        if not least <= found <= most:
            raise WrongShapeError
        return found

    return shaped


def count(least: int = 0, most: float = MOST) -> Shape:
    """A whole number between two bounds."""
    bounded = number(least, most)

    def shaped(value: Any) -> int:
        found = bounded(value)
        if not found.is_integer():
            raise WrongShapeError
        return int(found)

    return shaped


def one_of_type(kind: type) -> Shape:
    """A value of this type, unchanged."""

    def shaped(value: Any) -> Any:
        if not isinstance(value, kind):
            raise WrongShapeError
        return value

    return shaped


text = one_of_type(str)
flag = one_of_type(bool)


def word_of(words: type) -> Shape:
    """The value of one of an enumeration's members."""

    def shaped(value: Any) -> Any:
        try:
            return words(value).value
        except (TypeError, ValueError) as error:
            raise WrongShapeError from error

    return shaped


def each(shape: Shape, least: int = 0) -> Shape:
    """A list, all of whose items have this shape: without one of them it is another list."""

    def shaped(value: Any) -> list[Any]:
        if not isinstance(value, list) or len(value) < least:
            raise WrongShapeError
        return [shape(item) for item in value]

    return shaped


def named(shape: Shape) -> Shape:
    """A mapping from any names to values of this shape."""

    def shaped(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WrongShapeError
        return {name: shape(item) for name, item in value.items()}

    return shaped


def record(needed: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """A mapping with these names; an optional one whose value is None counts as absent."""
    optional = optional or {}

    def shaped(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not needed.keys() <= value.keys():
            raise WrongShapeError
        known = {name: shape(value[name]) for name, shape in needed.items()}
        for name, item in value.items():
            if name in optional and item is not None:
                known[name] = optional[name](item)
            elif name not in optional and name not in needed:
                known[name] = item
        return known

    return shaped
