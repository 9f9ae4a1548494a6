"""What steps waited for their input, by the events of the operations that fetch."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keras_perf.trace.cover import Ticks
from keras_perf.trace.file.xplane import LineEvents, Plane
from keras_perf.trace.spans import Spans, spans_of

_WAIT = re.compile(r"IteratorGetNext(AsOptional|Sync)?Op::\w*Compute\w*|keras_perf: next batch")
"""TensorFlow's names, and on JAX ours."""

_FETCHES_AHEAD = "RemoteCallOp"
"""What `prefetch_to_device` has another iterator's batch fetched by, while steps compute."""

_OF_A_STRATEGY = re.compile(r"GetNextFromShard\d+")
"""What it calls where a strategy shares batches among devices: of these no step waits for one."""


@dataclass(frozen=True)
class Fetches:
    """Of a thread: waits, whether each brought a batch, and calls that fetch ahead."""

    waits: LineEvents
    brought: NDArray[np.bool_]
    ahead: LineEvents


class Fetching:
    """The events of a plane that tell of fetching.

    Arguments:
        plane: of a host.
    """

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._waits = plane.ids(_WAIT.fullmatch)
        ahead = plane.ids(_FETCHES_AHEAD.__eq__)
        self._ahead = ahead[:0] if len(plane.ids(_OF_A_STRATEGY.fullmatch)) else ahead

    def on_thread(self, events: LineEvents) -> Fetches:
        """Those of a thread with these events."""
        waits = events.named(self._waits)
        sized = ["element_size" in self._plane.stats(encoded) for encoded in waits.encoded]
        return Fetches(waits, np.array(sized, dtype=bool), events.named(self._ahead))


def of_steps(threads: list[Fetches]) -> list[Fetches]:
    """Those that steps wait for: each operation that fetches has a thread of its own.

    Where most of a thread's follow a call that fetches ahead, none is a step's, if another's are.
    """
    begin = spans_of(*(each.waits for each in threads)).begin
    following = np.searchsorted(begin, spans_of(*(each.ahead for each in threads)).begin)
    called = begin[following[following < len(begin)]]

    def is_of_steps(fetches: Fetches) -> bool:
        return 2 * int(np.isin(fetches.waits.begin, called).sum()) <= len(fetches.waits.begin)

    own = list(filter(is_of_steps, threads))
    return own if any(len(each.waits.begin) for each in own) else threads


def waits_of(threads: list[Fetches]) -> Spans:
    """All waits."""
    return spans_of(*(each.waits for each in threads))


def fetched_by(threads: list[Fetches]) -> Ticks:
    """Begins of the waits that brought a batch: all, where the trace tells no batch's size."""
    begin = np.concatenate([np.array([], dtype=np.int64), *(each.waits.begin for each in threads)])
    brought = np.concatenate([np.array([], dtype=bool), *(each.brought for each in threads)])
    return np.sort(begin[brought] if brought.any() else begin)
