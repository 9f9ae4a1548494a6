"""The record loop over event files: where whole records are, also in what is damaged or cut off."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keras_perf.read.checksums import masked_crc_of_length, masked_crcs

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_AT_ONCE = 1 << 20
"""Bytes of a damaged file in which the next whole header is looked for at once."""


class Records(NamedTuple):
    """Where the records of a file are, and what of it is none."""

    begin: list[int]
    length: list[int]
    lost_bytes: int
    """Passed over until the next header that is whole."""
    cut_bytes: int
    """Of a last record that is not all there."""


def records(data: bytes) -> Records:
    """The records whose headers are whole, by the checksum of their length."""
    begin, length, lost = [], [], 0
    position, end = 0, len(data)
    while position + _HEADER.size <= end:
        size, crc = _HEADER.unpack_from(data, position)
        if crc != masked_crc_of_length(size) or not size:
            behind = _next_header(data, position + 1)
            lost += behind - position
            position = behind
            continue
        start = position + _HEADER.size
        if start + size + _CRC.size > end:
            break
        begin.append(start)
        length.append(size)
        position = start + size + _CRC.size
    return Records(begin, length, lost, end - position)


def end_of_cut(data: bytes, found: Records) -> int | None:
    """Where the record ends that is not all there; None where not even its header is."""
    position = len(data) - found.cut_bytes
    if found.cut_bytes < _HEADER.size:
        return None
    return position + _HEADER.size + int(_HEADER.unpack_from(data, position)[0]) + _CRC.size


def _next_header(data: bytes, position: int) -> int:
    """Where the next whole header begins; the file's end where there is none."""
    end = len(data) - _HEADER.size
    while position <= end:
        until = min(position + _AT_ONCE, end + 1)
        places = np.arange(until - position)
        near = np.frombuffer(data, np.uint8, until - position + _HEADER.size - 1, position)
        stored = np.ascontiguousarray(near[places[:, None] + np.arange(8, 12)]).view("<u4")[:, 0]
        found = np.flatnonzero(masked_crcs(near, places, np.full(len(places), 8)) == stored)
        if len(found):
            return position + int(found[0])
        position = until
    return len(data)


class Whole(NamedTuple):
    """The records of a stretch of a file that are whole, and what of it is not."""

    data: bytes
    begin: NDArray[np.int64]
    length: NDArray[np.int64]
    lost_bytes: int
    cut_bytes: int


def whole_records(data: bytes) -> Whole:
    """The records that match their checksums."""
    found = records(data)
    begin, length = np.array(found.begin, dtype=np.int64), np.array(found.length, dtype=np.int64)
    whole = np.array(match_checksums(data, found), dtype=bool)
    lost = int((length[~whole] + _HEADER.size + _CRC.size).sum())
    return Whole(data, begin[whole], length[whole], found.lost_bytes + lost, found.cut_bytes)


def record_bytes(whole: Whole, place: int) -> int:
    """Bytes that a record takes in its file."""
    return _HEADER.size + int(whole.length[place]) + _CRC.size


def match_checksums(data: bytes, found: Records) -> list[bool]:
    """Which records match the checksum behind them."""
    begin, length = np.array(found.begin, dtype=np.int64), np.array(found.length, dtype=np.int64)
    ends = (begin + length).tolist()
    stored = np.array([_CRC.unpack_from(data, end)[0] for end in ends], dtype=np.uint32)
    whole: list[bool] = []
    step = 8192  # So many fit into a processor's cache.
    for i in range(0, len(begin), step):
        part = slice(i, i + step)
        sums = masked_crcs(np.frombuffer(data, np.uint8), begin[part], length[part])
        whole += (sums == stored[part]).tolist()
    return whole
