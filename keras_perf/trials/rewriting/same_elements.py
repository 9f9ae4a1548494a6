"""Whether two datasets give the same elements in the same order."""

from __future__ import annotations

import itertools
import time
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from keras_perf.trials.measuring.own_iterator import OwnIterator


def checksums(dataset: tf.data.Dataset, most: int, within_s: float) -> list[int]:
    """One for each of the first elements, of all bytes, shapes and types in it.

    Arguments:
        dataset: of elements that NumPy knows.
        most: elements to look at.
        within_s: seconds after which no more are taken; the first one always is.
    """
    return list(map(_of_element, _elements(dataset, most, within_s)))


def mean_bytes(dataset: tf.data.Dataset, most: int, within_s: float) -> float:
    """Of an element, from the first ones."""
    elements = _elements(dataset, most, within_s)
    sizes = [sum(map(_bytes, _arrays(element))) for element in elements]
    return sum(sizes) / max(1, len(sizes))


def start_alike(
    first: tf.data.Dataset, second: tf.data.Dataset, most: int, within_s: float
) -> bool:
    """Their first elements are the same, bit for bit and in their order; as many as there is time.

    False too where an element cannot be looked at.
    """
    try:
        expected = checksums(first, most, within_s)
        return bool(expected) and checksums(second, len(expected), 10 * within_s) == expected
    except (TypeError, ValueError, tf.errors.OpError):
        return False


def _elements(dataset: tf.data.Dataset, most: int, within_s: float) -> Iterator[Any]:
    """So many of the first ones, until these seconds are over."""
    end, own = time.perf_counter() + within_s, OwnIterator(dataset)
    try:
        for element in itertools.islice(own.iterator, most):
            yield element
            if time.perf_counter() > end:
                break
    finally:
        own.close()


def _of_element(element: Any) -> int:
    found = 0
    for part in _arrays(element):
        found = zlib.crc32(f"{part.dtype}{part.shape}".encode(), found)
        # Of strings the array holds addresses only.
        content = part.tobytes() if part.dtype != object else repr(part.tolist()).encode()
        found = zlib.crc32(content, found)
    return found


def _arrays(element: Any) -> Iterator[np.ndarray[Any, Any]]:
    for part in tf.nest.flatten(element, expand_composites=True):
        if part is None:
            continue
        if part.dtype in (tf.variant, tf.resource):
            raise TypeError("what such a tensor holds cannot be looked at")
        # A string that stands alone comes as Python's bytes.
        yield np.asarray(part.numpy(), dtype=object if part.dtype == tf.string else None)


def _bytes(part: np.ndarray[Any, Any]) -> int:
    """That it takes; of strings their own, and not those of the addresses."""
    return part.nbytes if part.dtype != object else sum(len(each) for each in part.flat)
