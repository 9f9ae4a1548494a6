"""Scalars of many events at once: most of a file's events differ in their numbers only.

protobuf takes some 4 µs for each value, five seconds for what a day of training logs. Here the
events of one length are laid over the first of them: what has the same bytes wherever no number
stands is decoded as columns. All others are left to protobuf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keras_perf.read.checksums import Bytes, Places
from keras_perf.records.metrics.all_metrics import KEPT

FEW = 16
"""Fewer events that are alike are quicker one by one."""

MOST_LAYOUTS = 16
"""So many of one length are tried."""

AT_ONCE = 1 << 16
"""Events decoded together, so that memory holds few copies."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class AlikeEvents:
    """Events with the same tags in the same order.

    Attributes:
        places: of the events among all that were asked for, ascending.
        tags: of their values.
        steps, times: one an event.
        values: a row an event, a column a tag.
    """

    places: Places
    tags: tuple[str, ...]
    steps: NDArray[np.int64]
    times: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class _Layout:
    """Where the numbers of an event stand; `step` is empty where it is 0 and not written."""

    tags: tuple[str, ...]
    time: int | None
    step: range
    values: tuple[int, ...]


def alike_events(data: bytes, begin: Places, length: Places) -> Iterator[AlikeEvents]:
    """Groups of events that are alike; those in none of them are for protobuf.

    Arguments:
        data: what holds them.
        begin: where each event begins.
        length: its bytes.
    """
    if not len(begin):
        return
    found = np.frombuffer(data, np.uint8)
    order = np.argsort(length, kind="stable")
    sizes, first = np.unique(length[order], return_index=True)
    for size, places in zip(sizes.tolist(), np.split(order, first[1:]), strict=True):
        left = places
        for _ in range(MOST_LAYOUTS):
            if len(left) < FEW:
                break
            start = int(begin[left[0]])
            pattern = found[start : start + size]
            layout = _layout_of(pattern.tobytes())
            if layout is None:
                left = left[1:]
                continue
            alike, left = _alike(found, begin, left, pattern, layout)
            for at in range(0, len(alike), AT_ONCE):
                part = alike[at : at + AT_ONCE]
                yield _decoded(_rows(found, begin[part], size), part, layout)


def _rows(found: Bytes, begin: Places, size: int) -> Bytes:
    """A row an event."""
    rows: Bytes = np.lib.stride_tricks.sliding_window_view(found, size)[begin]
    return rows


def _alike(
    found: Bytes, begin: Places, places: Places, pattern: Bytes, layout: _Layout
) -> tuple[Places, Places]:
    """Which events have the same layout, and which have not."""
    # Of a step's bytes the highest bit tells whether another follows.
    compared = np.full(len(pattern), 0xFF, dtype=np.uint8)
    compared[layout.step] = 0x80
    for at, size in [(layout.time, 8), *((value, 4) for value in layout.values)]:
        if at is not None:
            compared[at : at + size] = 0
    same = np.empty(len(places), dtype=bool)
    for at in range(0, len(places), AT_ONCE):
        rows = _rows(found, begin[places[at : at + AT_ONCE]], len(pattern))
        rows &= compared
        same[at : at + AT_ONCE] = (rows == pattern & compared).all(axis=1)
    return places[same], places[~same]


def _decoded(rows: Bytes, places: Places, layout: _Layout) -> AlikeEvents:
    steps = np.zeros(len(rows), dtype=np.int64)
    for digit, at in enumerate(layout.step):
        steps |= (rows[:, at] & 0x7F).astype(np.int64) << (7 * digit)
    times = np.zeros(len(rows))
    if layout.time is not None:
        times = np.ascontiguousarray(rows[:, layout.time : layout.time + 8]).view("<f8")[:, 0]
    columns = [np.ascontiguousarray(rows[:, at : at + 4]).view("<f4") for at in layout.values]
    values = np.concatenate(columns, axis=1).astype(np.float64)
    return AlikeEvents(places, layout.tags, steps, times, values)


def _layout_of(event: bytes) -> _Layout | None:
    """None where it holds anything but a time, a step and scalars, each once."""
    time, step, summary = None, range(0), None
    for field, kind, begin, end in _fields(event, 0, len(event)):
        if (field, kind) == (1, _FIXED64) and time is None:
            time = begin
        elif (field, kind) == (2, _VARINT) and not step and end - begin < 9:
            step = range(begin, end)
        elif (field, kind) == (5, _BYTES) and summary is None:
            summary = begin, end
        else:
            return None
    values = [_value(event, each) for each in _fields(event, *summary)] if summary else []
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return _Layout(tuple(tag for tag, _ in known), time, step, tuple(at for _, at in known))


def _value(event: bytes, found: tuple[int, int, int, int]) -> tuple[str, int] | None:
    """Tag, and where the number stands; None where there is anything else."""
    field, kind, begin, end = found
    parts = list(_fields(event, begin, end)) if (field, kind) == (1, _BYTES) else []
    kinds = [part[:2] for part in parts]
    if not kinds or kinds[0] != (1, _BYTES):
        return None
    try:
        tag = event[parts[0][2] : parts[0][3]].decode("utf-8")
    except UnicodeDecodeError:
        return None
    if kinds[1:] == [(2, _FIXED32)]:
        return tag, parts[1][2]
    if kinds[1:] == [(8, _BYTES), (9, _BYTES)] and tag.startswith(KEPT):
        at = _only_float(event, *parts[1][2:])
        return None if at is None else (tag.removeprefix(KEPT), at)
    return None


def _only_float(event: bytes, begin: int, end: int) -> int | None:
    """Where the number of a tensor stands; None where it holds anything else."""
    fields = list(_fields(event, begin, end))
    if [field[:2] for field in fields] != [(1, _VARINT), (5, _BYTES)]:
        return None
    _, _, begin, end = fields[1]
    return begin if end - begin == 4 else None


def _fields(event: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, kind, begin and end of each field; of what is none the number is 0."""
    while at < end:
        key, at = _number(event, at, end)
        begin, kind = at, key & 7
        if kind == _VARINT:
            _, at = _number(event, at, end)
        elif kind == _BYTES:
            size, begin = _number(event, at, end)
            at = begin + size
        else:
            at += {_FIXED64: 8, _FIXED32: 4}.get(kind, end)
        if at > end:
            yield 0, 0, end, end
            return
        yield key >> 3, kind, begin, at


def _number(event: bytes, at: int, end: int) -> tuple[int, int]:
    """A varint, and where the next field begins; behind the end if it does not end."""
    number, shift = 0, 0
    while at < end:
        byte = event[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
    return number, end + 1
