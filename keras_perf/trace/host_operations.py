"""Which operations of the steps run on the CPU, told on one thread of the host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_perf.trace.cover import Cover, Ticks, within_each
from keras_perf.trace.file.xplane import LineEvents, Plane

_OPERATION = re.compile(r"[^\s:]:(_?[A-Z]\w*)$")
"""`model/dense/MatMul:MatMul`, or `_MklMatMul` where oneDNN has a kernel for the processor. At the
level of the profiler that we ask for, those of a GPU are not among the host's events (op_kernel.cc
and traceme.h: they count as inexpensive)."""

_NO_WORK = re.compile(
    r"Iterator|.*(PartitionedCall|While|If|Case|Launch|RemoteCall|Send|Recv)$|_?Xla|Collective"
)
"""They call others, or wait."""

_PROCESS = "ExecutorState::Process"
_RUN = "FunctionRun"


class Executor:
    """The events of a plane that tell of the executor, which runs operations.

    Arguments:
        plane: of a host.
    """

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._processes = plane.ids(_PROCESS.__eq__)
        self._runs = plane.ids(_RUN.__eq__)
        types = {i: m[1] for i, name in plane.event_names.items() if (m := _OPERATION.search(name))}
        self._types = {i: type_ for i, type_ in types.items() if not _NO_WORK.match(type_)}

    def runs_of(self, events: LineEvents) -> set[int]:
        """Ids of the functions that are called on a thread."""
        return set(self._ids(events.named(self._runs)))

    def operations(self, events: LineEvents, launches: Ticks) -> OnThread:
        """Those that run on a thread and launch nothing on a device.

        Arguments:
            events: of the thread.
            launches: when it called the driver.
        """
        found = events.named(np.array(list(self._types), dtype=np.int64))
        at = np.sort(launches)
        launching = np.searchsorted(at, found.begin) < np.searchsorted(at, found.end)
        found = found.where(~launching & (found.duration > 0))
        types = tuple(self._types[int(i)] for i in found.name_id)
        processes = events.named(self._processes)
        runs = np.array(self._ids(processes) if types else [], dtype=np.int64)
        return OnThread(found, types, processes, runs)

    def _ids(self, events: LineEvents) -> list[int]:
        return [int(self._plane.stats(encoded).get("id", 0)) for encoded in events.encoded]


@dataclass(frozen=True)
class OnThread:
    """Operations on one thread, and when the executor worked there, and for which call."""

    found: LineEvents
    types: tuple[str, ...]
    processes: LineEvents
    runs: Ticks

    def of(self, runs: frozenset[int]) -> CpuOperations:
        """The operations of these calls of functions."""
        if not self.types:
            return CpuOperations(self.found.begin, self.found.end, ())
        own = np.isin(self.runs, list(runs))
        held = Cover(self.processes.begin[own], self.processes.end[own])
        inside = held.within(self.found.begin, self.found.end) == self.found.duration
        types = tuple(self.types[i] for i in np.flatnonzero(inside))
        return CpuOperations(self.found.begin[inside], self.found.end[inside], types)


@dataclass(frozen=True)
class CpuOperations:
    """Operations that ran on the CPU, with their types."""

    begin: Ticks
    end: Ticks
    types: tuple[str, ...]

    @property
    def cover(self) -> Cover:
        """Their union."""
        return Cover(self.begin, self.end)

    def during(self, begin: Ticks, end: Ticks) -> CpuOperations:
        """Those that begin in one of these windows, which are in order and do not overlap."""
        inside = within_each(begin, end, self.begin) >= 0
        types = tuple(self.types[i] for i in np.flatnonzero(inside))
        return CpuOperations(self.begin[inside], self.end[inside], types)

    def longest_ms(self) -> dict[str, float]:
        """The time of each type in all, longest first."""
        total: dict[str, float] = {}
        for type_, ticks in zip(self.types, (self.end - self.begin).tolist(), strict=True):
            total[type_] = total.get(type_, 0.0) + ticks / 1e9
        return dict(sorted(total.items(), key=lambda item: -item[1]))


def joined(parts: Sequence[CpuOperations]) -> CpuOperations:
    """Those of several threads."""
    nothing = np.array([], dtype=np.int64)
    return CpuOperations(
        np.concatenate([nothing, *(part.begin for part in parts)]),
        np.concatenate([nothing, *(part.end for part in parts)]),
        tuple(type_ for part in parts for type_ in part.types),
    )
