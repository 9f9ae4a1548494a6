"""Whether there is memory for a copy of what training changes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import keras

from keras_perf.observers.container.limits import memory_available_mib
from keras_perf.records.figures import in_mib

LITTLE_MIB = 16.0
"""So much is always there."""


def require_room(variables: Iterable[Any]) -> None:
    """Nothing, where a copy of them takes at most half of the free memory.

    Arguments:
        variables: Keras's or the backend's own.

    Raises:
        ValueError: it takes more.
    """
    mib, free_mib = sum(map(_bytes, variables)) / 2**20, memory_available_mib()
    if mib > max(LITTLE_MIB, free_mib / 2):
        raise ValueError(
            f"model must leave room for a copy of its variables, got {in_mib(mib)} of them, and of "
            f"{in_mib(free_mib)} that are free trials take half at most. Nothing was changed."
        )


def _bytes(variable: Any) -> int:
    bits = re.search(r"\d+", keras.backend.standardize_dtype(variable.dtype))
    return math.prod(map(int, variable.shape)) * (1 if bits is None else int(bits[0]) // 8)
