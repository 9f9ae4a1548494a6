"""Reads traces while training goes on."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator

from keras_perf.capture.trace_files import Saved
from keras_perf.observers.asking import unwarned
from keras_perf.trace.read_trace import read_trace
from keras_perf.trace.trace import Trace

logger = logging.getLogger("keras_perf")

LONGEST_S = 60.0
"""A `fit` ends no later than so many seconds for a trace that is still being read."""


class TraceReading:
    """One trace, read in a thread of its own.

    Arguments:
        saved: the capture; of a remote one the local copy is read, and removed.
        step: the first step after the capture.
    """

    def __init__(self, saved: Saved, step: int) -> None:
        self.step = step
        self._saved = saved
        self._trace: Trace | None = None
        self._error = "it takes too long"
        self._thread = threading.Thread(target=self._read, name="keras_perf-trace", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            # From Python 3.12 on an interpreter that is about to exit starts no thread.
            self._read()

    def _read(self) -> None:
        try:
            self._trace = unwarned(read_trace, self._saved.copy or self._saved.folder)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._error = f"{type(error).__name__}: {error}"
        if self._saved.copy is not None:
            shutil.rmtree(self._saved.copy, ignore_errors=True)

    @property
    def is_done(self) -> bool:
        """The trace was read, or cannot be."""
        return not self._thread.is_alive()

    def result(self) -> Trace:
        """The trace; waits for it.

        Raises:
            ValueError: it cannot be read; the message says why.
        """
        if not self.is_done:
            self._thread.join(LONGEST_S)
        if self._trace is None:
            raise ValueError(self._error)
        return self._trace


class TraceReadings:
    """The traces of a training that are being read."""

    def __init__(self) -> None:
        self._running: list[TraceReading] = []

    @property
    def busy(self) -> bool:
        """One was begun and has not been taken yet."""
        return bool(self._running)

    def begin(self, saved: Saved, step: int) -> None:
        """Reads one more, which ended before `step`."""
        self._running.append(TraceReading(saved, step))

    def take(self, *, wait: bool) -> Iterator[tuple[int, Trace]]:
        """Those that have been read since the last time, with their steps; all, if `wait`."""
        for reading in [each for each in self._running if wait or each.is_done]:
            self._running.remove(reading)
            try:
                yield reading.step, reading.result()
            except ValueError as error:
                logger.warning("keras_perf: the trace was saved, but not read: %s.", str(error))
