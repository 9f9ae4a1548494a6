"""Which operations of the steps run on the CPU, told on one thread of the host."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from keras_perf.trace.cover import Cover, Ticks
from keras_perf.trace.xplane import Events, Plane

_OPERATION = re.compile(r"[^\s:]:([A-Z]\w*)$")
"""`model/dense/MatMul:MatMul`. At the level of the profiler that we ask for, those of a GPU are
not among the host's events (op_kernel.cc and traceme.h: they count as inexpensive)."""

_NO_WORK = re.compile(
    r"Iterator|.*(PartitionedCall|While|If|Case|Launch|RemoteCall)$|Xla|Collective"
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

    def runs_of(self, events: Events) -> set[int]:
        """Ids of the functions that are called on a thread."""
        return set(self._ids(_chosen(events, self._runs)))

    def operations(self, events: Events, launches: Ticks) -> list[Operations]:
        """Those of each function that run on a thread and launch nothing on a device.

        Arguments:
            events: of the thread.
            launches: when it called the driver.
        """
        found = _chosen(events, np.array(list(self._types), dtype=np.int64))
        if not len(found.begin):
            return []
        at = np.sort(launches)
        first, last = np.searchsorted(at, found.begin), np.searchsorted(at, found.end)
        found = found.where(first == last)
        processes = _chosen(events, self._processes)
        ids = np.array(self._ids(processes), dtype=np.int64)
        every = []
        for id_ in np.unique(ids):
            held = Cover(processes.begin[ids == id_], processes.end[ids == id_])
            inside = held.within(found.begin, found.end) == found.duration
            own = found.where(inside & (found.duration > 0))
            types = tuple(self._types[int(i)] for i in own.name_id)
            every.append(Operations(int(id_), own.begin, own.end, types))
        return every

    def _ids(self, events: Events) -> list[int]:
        return [int(self._plane.stats(encoded).get("id", 0)) for encoded in events.encoded]


class Operations:
    """Operations of one call of a function, on one thread."""

    def __init__(self, run: int, begin: Ticks, end: Ticks, types: tuple[str, ...]) -> None:
        self.run, self.begin, self.end, self.types = run, begin, end, types


def _chosen(events: Events, ids: NDArray[np.int64]) -> Events:
    return events.where(np.isin(events.name_id, ids))
