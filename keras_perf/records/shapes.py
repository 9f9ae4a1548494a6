"""What a value that comes from outside must look like, put together from a few words.

A shape is a function from a value to the value as its readers expect it; it raises
`WrongShapeError` for any other. What comes from outside is JSON of a log directory, or what
another library answered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from enum import Enum
from typing import Any, TypeVar

from keras_perf.records.text.visible import visible

Shape = Callable[[Any], Any]
Part = TypeVar("Part")

MOST = 1e15
"""No figure of a training is larger: a petabyte, or thirty million years in milliseconds."""


class WrongShapeError(ValueError):
    """The value is not what its readers expect.

    Attributes:
        rest: what is left without what is wrong in it, or None.
    """

    rest: Any = None

    def __init__(self, rest: Any = None) -> None:
        super().__init__("not what is expected")
        self.rest = rest


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


def text(value: Any) -> str:
    """A text, made visible: names come from outside."""
    if not isinstance(value, str):
        raise WrongShapeError
    return visible(value)


def flag(value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise WrongShapeError
    return value


def word_of(words: type[Enum]) -> Shape:
    """One of an enumeration's members, or its value."""

    def shaped(value: Any) -> Any:
        try:
            return words(value)
        except (TypeError, ValueError) as error:
            raise WrongShapeError from error

    return shaped


def each(shape: Shape, least: int = 0) -> Shape:
    """A list, all of whose items have this shape: without one of them it is another list."""

    def shaped(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) < least:
            raise WrongShapeError
        good, whole = _items(shape, value)
        if len(good) < len(value):
            raise WrongShapeError
        if not whole:
            raise WrongShapeError(good)
        return good

    return shaped


def any_of(shape: Shape) -> Shape:
    """A list whose items do not depend on each other: a wrong one costs itself."""

    def shaped(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise WrongShapeError
        good, whole = _items(shape, value)
        if not whole:
            raise WrongShapeError(good)
        return good

    return shaped


def _items(shape: Shape, values: list[Any] | tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
    """Those that have this shape, or what is left of them, and whether that is all there was."""
    good, whole = [], True
    for item in values:
        try:
            good.append(shape(item))
        except WrongShapeError as error:
            whole = False
            if error.rest is not None:
                good.append(error.rest)
    return tuple(good), whole


def named(shape: Shape, name: Shape = text) -> Shape:
    """A mapping from names to values of this shape: of each, what is left of it."""

    def shaped(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise WrongShapeError
        good, whole = {}, True
        for key, item in value.items():
            called = name(key)
            try:
                good[called] = shape(item)
            except WrongShapeError as error:
                if error.rest is None:
                    raise
                good[called], whole = error.rest, False
        if not whole:
            raise WrongShapeError(good)
        return good

    return shaped


def fact(shape: Shape, default: Any = None, *, key: str = "") -> Any:
    """A field of a record that may be missing.

    Arguments:
        shape: of its value.
        default: stands for what is not known.
        key: its name in JSON, if not the field's own.
    """
    metadata = {"shape": shape, "key": key}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def needed(shape: Shape) -> Any:
    """A field without which there is no record."""
    return field(metadata={"shape": shape, "key": ""})


def record(kind: type[Part]) -> Shape:
    """A mapping with the facts of this dataclass; others in it are left out."""

    def shaped(value: Any) -> Part:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise WrongShapeError
        found, wrong = facts_in(kind, value)
        try:
            made = kind(**found)
        except TypeError as error:
            # One that is needed is missing.
            raise WrongShapeError from error
        if wrong:
            raise WrongShapeError(made)
        return made

    return shaped


def facts_in(kind: type[Any], values: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Field → value of the facts of a dataclass that are there, and the keys of wrong ones.

    None is no value: it was not known.
    """
    found, wrong = {}, []
    for each_field in fields(kind):
        if "shape" not in each_field.metadata:
            continue
        key = each_field.metadata["key"] or each_field.name
        if (value := values.get(key)) is None:
            continue
        try:
            found[each_field.name] = each_field.metadata["shape"](value)
        except WrongShapeError as error:
            wrong.append(key)
            if error.rest is not None:
                found[each_field.name] = error.rest
    return found, wrong
