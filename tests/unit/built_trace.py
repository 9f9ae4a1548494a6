"""Traces built by hand, byte by byte: nothing of the reader's is used."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path

MS = 10**9
"""Picoseconds."""


def varint(value):
    value &= 2**64 - 1
    encoded = b""
    while value >= 0x80:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


class BuiltPlane:
    """A plane; `line` adds a line of events `(name, begin_ms, end_ms, {statistic: value})`."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.ids = {"event": {}, "stat": {}}

    def identity(self, kind, name):
        return self.ids[kind].setdefault(name, len(self.ids[kind]) + 1)

    def line(self, name, *events, timestamp_ns=0):
        encoded = b"".join(part(4, self.event(*event)) for event in events)
        head = part(2, name) + number(3, timestamp_ns)
        self.lines.append(head + encoded)
        return self

    def event(self, name, begin_ms, end_ms, stats=None):
        encoded = number(1, self.identity("event", name))
        begin, duration = round(begin_ms * MS), round((end_ms - begin_ms) * MS)
        encoded += number(2, begin) if begin else b""
        encoded += number(3, duration) if duration else b""
        return encoded + b"".join(part(4, self.stat(*pair)) for pair in (stats or {}).items())

    def stat(self, name, value):
        encoded = number(1, self.identity("stat", name))
        if isinstance(value, float):
            return encoded + varint(2 << 3 | 1) + struct.pack("<d", value)
        return encoded + (part(5, value) if isinstance(value, str) else number(4, value))

    def encoded(self):
        metadata = b""
        for field, kind in ((4, "event"), (5, "stat")):
            for name, identity in self.ids[kind].items():
                described = number(1, identity) + part(2, name)
                metadata += part(field, number(1, identity) + part(2, described))
        return part(2, self.name) + b"".join(part(3, line) for line in self.lines) + metadata


_folders = itertools.count()


def write(folder, *planes):
    """The file with these planes, where the profiler would put it."""
    path = Path(folder) / f"plugins/profile/2026_01_01_00_00_{next(_folders):02d}/vm.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(part(1, plane.encoded()) for plane in planes) + part(4, "vm"))
    return path


def marker(step, begin_ms, end_ms):
    return ("train", begin_ms, end_ms, {"step_num": step, "_r": 1})


def runs(begin_ms, end_ms):
    return ("EagerKernelExecute", begin_ms, end_ms)


def wait(begin_ms, end_ms):
    return ("IteratorGetNextOp::DoCompute", begin_ms, end_ms, {"element_size": 288})


def fetch(begin_ms, end_ms, **stats):
    return ("IteratorGetNextAsOptionalOp::DoCompute", begin_ms, end_ms, stats)


def call(begin_ms, end_ms, name="train_step", *, how="notTraced-nonXla"):
    return (name, begin_ms, end_ms, {"tf_function_call": how, "tracing_count": 1})
