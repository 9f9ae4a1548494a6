"""Data that callbacks hold, and what nobody can change."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LISTS = (list, tuple, set, frozenset, deque)
_DICTS = (dict, defaultdict)
_MADE = (None, bool, int, float, str, list, dict, set)
"""What a `defaultdict` may make: a class of the user's could do anything."""

NUMBER = 8
"""Bytes of one, at least."""


def is_constant(value: Any) -> bool:
    """Numbers, texts, and tuples of them."""
    if type(value) in (tuple, frozenset):
        return all(map(is_constant, value))
    return type(value) in _PLAIN or isinstance(value, np.number | np.bool_)


def is_data(value: Any) -> bool:
    """Numbers, texts, arrays, tensors, and lists of them; of no class of the user's.

    A variable is none: to copy it makes another one, and names that Keras counts.
    """
    if type(value) in _DICTS:
        made = value.default_factory if isinstance(value, defaultdict) else None
        return made in _MADE and all(map(is_data, [*value, *value.values()]))
    if type(value) in _LISTS:
        return all(map(is_data, value))
    if type(value) is np.ndarray:
        return not value.dtype.hasobject
    return is_constant(value) or _is_tensor(value)


def size_of(value: Any) -> int:
    """Bytes of data."""
    return sum(map(_bytes, _leaves(value)))


def _bytes(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return int(getattr(value, "nbytes", NUMBER))


def _leaves(value: Any) -> Iterator[Any]:
    inner: list[Any] = []
    if type(value) in _DICTS:
        inner = [*value, *value.values()]
    elif type(value) in _LISTS:
        inner = list(value)
    else:
        yield value
    for each in inner:
        yield from _leaves(each)


def _is_tensor(value: Any) -> bool:
    library = type(value).__module__.partition(".")[0] in ("tensorflow", "jaxlib", "jax")
    return library and not hasattr(value, "assign") and bool(keras.ops.is_tensor(value))
