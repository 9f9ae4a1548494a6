"""What an exception that ended a training says, above all of memory that could not be had."""

from __future__ import annotations

import math
import re

from keras_perf.records.run.ending import Ending, How, Lack
from keras_perf.records.text.error_line import line_that_says_most, text_of

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
_UNITS = {"bytes": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

_AMOUNT = re.compile(
    # XLA's "Out of memory while trying to allocate 17179869184 bytes", or "… allocate 16.00GiB",
    # "Failed to allocate request for 1.00GiB (1073741824B) on device ordinal 0".
    rf"allocat(?:e|ing)\D{{0,20}}?(?P<size>\d+(?:\.\d+)?)\s?(?P<unit>{'|'.join(_UNITS)})\b"
    r"(?: \((?P<bytes>\d+)B\))?(?: on device ordinal (?P<number>\d+))?"
)
_OF_A_BATCH = "allocate memory for the batch of component"
"""What `Dataset.batch` says, which puts batches together on the host."""

_LACKS = {
    "No space left on device": Lack.DISK,
    "Disk quota exceeded": Lack.QUOTA,
    "Too many open files": Lack.FILES,
}
"""By the system's words, which end the message; TensorFlow calls it ResourceExhaustedError."""


def ended_by(error: BaseException | None) -> Ending:
    """An exception ended the training; None where only Keras saw it."""
    if error is None:
        return Ending(How.RAISED)
    kind, text = type(error).__name__, text_of(error)
    message = line_that_says_most(text)
    if lack := next((lack for words, lack in _LACKS.items() if words in text), None):
        return Ending(How.RAISED, kind, message, lack)
    if not _is_of_memory(error, text):
        return Ending(How.RAISED, kind, message)
    shape, requested_mib, device = _asked_for(text)
    return Ending(How.RAISED, kind, message, None, True, device, shape, requested_mib)


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
        amount = float(found["bytes"] or 0) or float(found["size"]) * _UNITS[found["unit"]]
        return (), amount / 2**20, f"GPU:{found['number']}" if found["number"] else ""
    return (), None, "CPU:0" if _OF_A_BATCH in text else ""
