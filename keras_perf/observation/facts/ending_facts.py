"""What an exception that ended a training says, above all of memory that could not be had."""

from __future__ import annotations

import math
import re

from keras_perf.records.run.ending import Ending, How
from keras_perf.trials.failure import line_that_says_most

_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "half": 2, "float16": 2, "bfloat16": 2, "int16": 2,
    "float": 4, "float32": 4, "int32": 4, "double": 8, "float64": 8, "int64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip
"""Of an element, by the names that TensorFlow and NumPy give types in their messages."""

_ARRAY = re.compile(
    # TensorFlow's "OOM when allocating tensor with shape[8,4] and type float on /job:…/device:GPU:0
    # by allocator GPU_0_bfc", NumPy's "Unable to allocate 1 TiB for an array with shape (8, 4)
    # and data type float64".
    r"shape\s?[\[(](?P<shape>[\d, ]*)[\])] and (?:data )?type (?P<type>\w+)"
    r"(?: on \S*device:(?P<device>\w+:\d+))?"
)
_AMOUNT = re.compile(r"(?:allocate|allocating)\D{0,20}?(?P<bytes>\d{4,})\s?bytes")
"""XLA's "Out of memory while trying to allocate 17179869184 bytes"."""


def ended_by(error: BaseException | None) -> Ending:
    """An exception ended the training; None where only Keras saw it."""
    if error is None:
        return Ending(How.RAISED)
    kind, text = type(error).__name__, _text(error)
    message = line_that_says_most(text)
    if not _is_of_memory(error, text):
        return Ending(How.RAISED, kind, message)
    shape, requested_mib, device = _asked_for(text)
    return Ending(How.RAISED, kind, message, True, device, shape, requested_mib)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  it is another's class
        return ""


def _is_of_memory(error: BaseException, text: str) -> bool:
    kinds = {each.__name__ for each in type(error).__mro__}
    # What XLA could not allocate may come as another error.
    return bool(kinds & {"ResourceExhaustedError", "MemoryError"}) or any(
        words in text for words in ("RESOURCE_EXHAUSTED: ", "Out of memory while trying")
    )


def _asked_for(text: str) -> tuple[tuple[int, ...], float | None, str]:
    """Shape, MiB and device of what could not be allocated."""
    if (found := _ARRAY.search(text)) is not None:
        shape = tuple(int(size) for size in found["shape"].replace(" ", "").split(",") if size)
        size = _BYTES.get(found["type"])
        mib = math.prod(shape) * size / 2**20 if size else None
        return shape, mib, found["device"] or ""
    if (found := _AMOUNT.search(text)) is not None:
        return (), int(found["bytes"]) / 2**20, ""
    return (), None, ""
