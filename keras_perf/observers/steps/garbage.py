"""Pauses of Python's garbage collector."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

Pause = Callable[[int, int], None]


class CollectorPauses:
    """Tells of each collection that the thread which starts this has to wait for.

    A collection in another thread holds the interpreter's lock too, but need not delay a train
    function that runs outside of it: it is not told.

    Arguments:
        clock: nanoseconds.
        tell: called with begin and end of each collection.
    """

    def __init__(self, clock: Callable[[], int], tell: Pause) -> None:
        self._clock, self._tell = clock, tell
        self._thread = 0
        self._begin = 0

    def start(self) -> None:
        """Hears of collections from now on, in the thread that calls."""
        self._thread = threading.get_ident()
        gc.callbacks.append(self._hear)

    def _hear(self, phase: str, info: object) -> None:
        if threading.get_ident() != self._thread:
            return
        if phase == "start":
            self._begin = self._clock()
        elif self._begin:
            self._tell(self._begin, self._clock())
            self._begin = 0

    def stop(self) -> None:
        """Leaves the collector alone; again does nothing."""
        if self._hear in gc.callbacks:
            gc.callbacks.remove(self._hear)
