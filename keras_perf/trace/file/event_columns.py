"""Encoded events to columns, all of a line at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_KEYS = {0x08: 0, 0x10: 1, 0x18: 2}
"""Wire keys of an event's fields metadata_id, offset_ps and duration_ps; all are varints."""


class Columns(NamedTuple):
    """An event's numbers; 0 where it has none."""

    name_id: NDArray[np.int64]
    offset: NDArray[np.int64]
    duration: NDArray[np.int64]


def decode_events(payloads: Sequence[bytes]) -> Columns:
    """Columns of encoded `XEvent`s.

    The three numbers come first, in any order, as protocol buffers write fields in the order of
    their numbers; what follows them (statistics) is not looked at.

    Arguments:
        payloads: each event's bytes, without its length.

    Raises:
        IndexError: an event ends within a number.
    """
    count = len(payloads)
    columns = np.zeros((3, count), dtype=np.int64)
    data = np.frombuffer(b"".join(payloads), dtype=np.uint8)
    ends = np.cumsum(np.fromiter(map(len, payloads), dtype=np.int64, count=count))
    at = np.concatenate([[0], ends[:-1]]) if count else ends
    events = np.flatnonzero(at < ends)
    # One number of every event in each round, for as long as an event has one.
    for _ in range(len(columns)):
        if not len(events):
            break
        keys = data[at[events]]
        column = np.full(len(events), -1)
        for key, index in _KEYS.items():
            column[keys == key] = index
        events, column = events[column >= 0], column[column >= 0]
        values, after = _varints(data, at[events] + 1)
        columns[column, events] = values
        at[events] = after
        events = events[after < ends[events]]
    return Columns(*columns)


def _varints(
    data: NDArray[np.uint8], at: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Values of the varints that begin at these places, and the places after them."""
    values = np.zeros(len(at), dtype=np.int64)
    after = at.copy()
    open_ = np.arange(len(at))
    # Seven bits a byte: ten bytes hold the longest.
    for shift in range(0, 70, 7):
        byte = data[after[open_]].astype(np.int64)
        values[open_] |= (byte & 0x7F) << min(shift, 63)
        after[open_] += 1
        open_ = open_[byte >= 0x80]
        if not len(open_):
            break
    return values, after
