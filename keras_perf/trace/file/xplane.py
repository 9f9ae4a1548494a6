"""The profiler's files, `<host>.xplane.pb`, as columns of numbers; without TensorFlow.

A trace of minutes holds millions of events. Protocol buffers cut them apart, NumPy decodes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from keras_perf.files.any_path import AnyPath, any_path, folders_below
from keras_perf.trace.file.event_columns import decode_events
from keras_perf.trace.file.xplane_messages import MESSAGES

SUFFIX = ".xplane.pb"

Ticks = NDArray[np.int64]
"""Picoseconds, or ids."""


class NoTraceError(FileNotFoundError):
    """No trace of TensorFlow's profiler is there."""


@dataclass(frozen=True)
class LineEvents:
    """Events of one line, in columns; times in picoseconds since the trace's first line began."""

    name_id: Ticks
    begin: Ticks
    duration: Ticks
    encoded: tuple[bytes, ...] = field(repr=False)

    @property
    def end(self) -> Ticks:
        """When each ended."""
        return self.begin + self.duration

    def where(self, chosen: NDArray[np.bool_]) -> LineEvents:
        """Some of them."""
        encoded = tuple(self.encoded[i] for i in np.flatnonzero(chosen)) if self.encoded else ()
        return LineEvents(self.name_id[chosen], self.begin[chosen], self.duration[chosen], encoded)

    def named(self, ids: Ticks) -> LineEvents:
        """Those with one of these names."""
        return self.where(np.isin(self.name_id, ids))


@dataclass(frozen=True)
class Line:
    """One thread of a host, or one stream of a device."""

    name: str
    events: LineEvents


@dataclass(frozen=True)
class Plane:
    """One host or device: `/host:CPU`, `/device:GPU:0`; lines are decoded as they are visited."""

    name: str
    event_names: Mapping[int, str]
    stat_names: Mapping[int, str]
    origin_ns: int
    encoded_lines: tuple[bytes, ...] = field(repr=False)

    def lines(self) -> Iterator[Line]:
        """One after the other, so that one at a time is in memory.

        Raises:
            ValueError: what should be a line is none.
        """
        for encoded in self.encoded_lines:
            try:
                yield self._line(encoded)
            except (DecodeError, IndexError, OverflowError) as error:
                raise ValueError(f"a line of plane {self.name!r} is damaged") from error

    def _line(self, encoded: bytes) -> Line:
        name, timestamp_ns, payloads = _head_and_events(encoded)
        columns = decode_events(payloads)
        begin = columns.offset
        begin += (timestamp_ns - self.origin_ns) * 1000
        return Line(name, LineEvents(columns.name_id, begin, columns.duration, payloads))

    def ids(self, wanted: Any) -> Ticks:
        """Ids of the events whose name `wanted`, a function of the name, says yes to."""
        found = [i for i, name in self.event_names.items() if wanted(name)]
        return np.array(found, dtype=np.int64)

    def stats(self, encoded: bytes) -> dict[str, Any]:
        """What is written beside one event: name → number or text.

        Raises:
            ValueError: what should be an event is none.
        """
        try:
            event = MESSAGES["XEvent"].FromString(encoded)
        except DecodeError as error:
            raise ValueError(f"an event of plane {self.name!r} is damaged") from error
        return {self.stat_names.get(s.metadata_id, ""): self._value(s) for s in event.stats}

    def _value(self, stat: Any) -> Any:
        for name in ("int64_value", "uint64_value", "double_value", "str_value", "bytes_value"):
            if stat.HasField(name):
                return getattr(stat, name)
        # Texts that repeat are kept once, as names of statistics that nobody has.
        return self.stat_names.get(stat.ref_value, "")


@dataclass(frozen=True)
class XSpace:
    """One file: the planes of one host."""

    path: AnyPath
    planes: tuple[Plane, ...]
    errors: tuple[str, ...]
    hosts: tuple[str, ...]

    @cached_property
    def host_planes(self) -> tuple[Plane, ...]:
        """Threads of the host; several where the profiler left them unmerged."""
        return tuple(p for p in self.planes if p.name.startswith("/host:") and p.encoded_lines)

    @cached_property
    def gpu_planes(self) -> tuple[Plane, ...]:
        """One a GPU that did something; all where none did. The profiler makes one of each."""
        found = tuple(p for p in self.planes if p.name.startswith("/device:GPU"))
        return tuple(p for p in found if p.encoded_lines) or found


def find_traces(path: str | os.PathLike[str]) -> tuple[AnyPath, ...]:
    """The file itself, or the files of the newest trace below a directory, one a host.

    Raises:
        NoTraceError: (a FileNotFoundError) there is none.
    """
    root = any_path(path)
    if root.is_file():
        return (root,)
    if not root.exists():
        raise NoTraceError(f"there is no file or directory {str(root)!r}")
    captures = _captures(root)
    if not captures:
        raise NoTraceError(
            f"{str(root)!r} holds no trace (plugins/profile/<time>/<host>{SUFFIX}); capture one "
            "with callbacks=keras_perf.WindowedProfiler(log_dir) or tf.profiler.experimental"
        )
    return max(captures, key=_age)


def _captures(root: AnyPath) -> list[tuple[AnyPath, ...]]:
    """The files of each capture; one that is being written lies in a hidden folder."""
    refused: list[OSError] = []
    found = [
        tuple(folder / name for name in sorted(names) if name.endswith(SUFFIX))
        for folder, names in folders_below(root, refused.append)
        if not any(part.startswith(".") for part in folder.relative_to(root).parts)
    ]
    if refused and not any(found):
        raise refused[0]
    return [files for files in found if files]


def _age(capture: Sequence[AnyPath]) -> tuple[int, str]:
    """When it was written; what tells no time is named after it."""
    times = [file.stat().st_mtime_ns for file in capture if isinstance(file, Path)]
    return max(times, default=0), capture[0].parent.name


def host_of(file: AnyPath) -> str:
    """The host's name, by which the profiler names its file."""
    return file.name.removesuffix(SUFFIX)


def read_xspace(path: str | os.PathLike[str]) -> XSpace:
    """A trace's planes.

    Arguments:
        path: an `.xplane.pb` file.

    Raises:
        ValueError: the file is empty, cut off, or no trace.
    """
    file = any_path(path)
    data = file.read_bytes()
    if not data:
        raise ValueError(
            f"{str(file)!r} is empty: the profiler was stopped or the disk was full "
            "before it was written. Capture again."
        )
    try:
        space = MESSAGES["XSpace"].FromString(data)
        begins = [
            MESSAGES["LineHead"].FromString(line).timestamp_ns
            for plane in space.planes
            for line in plane.lines
        ]
        named = any(plane.name for plane in space.planes)
    except DecodeError:
        named = False
    if not named:
        raise ValueError(
            f"{str(file)!r} ({len(data):,} bytes) is no whole trace: cut off while it was written "
            f"or copied, or not a file of TensorFlow's profiler (*{SUFFIX})."
        )
    # Where the profiler did not make times relative, nanoseconds since the epoch would overflow
    # as picoseconds.
    origin = min(begins, default=0)
    return XSpace(
        file,
        tuple(_plane(plane, origin) for plane in space.planes),
        (*space.errors, *space.warnings),
        tuple(space.hostnames),
    )


def _head_and_events(encoded: bytes) -> tuple[str, int, tuple[bytes, ...]]:
    """Name, time and events of a line; the message, as large as they, is gone on return."""
    line = MESSAGES["XLine"].FromString(encoded)
    return _text(line.display_name or line.name), line.timestamp_ns, tuple(line.events)


def _plane(plane: Any, origin_ns: int) -> Plane:
    return Plane(
        _text(plane.name),
        _names(plane.event_metadata),
        _names(plane.stat_metadata),
        origin_ns,
        tuple(plane.lines),
    )


def _names(entries: Iterable[Any]) -> dict[int, str]:
    return {entry.key: _text(entry.value.name) for entry in entries}


def _text(name: bytes) -> str:
    """Names of functions and files come from the user's system, in whatever encoding."""
    return name.decode(errors="replace")
