"""Reads traces while training goes on."""

from __future__ import annotations

import threading

from keras_perf.report.trace import Trace, read_trace

LONGEST_S = 60.0
"""A `fit` ends no later than so many seconds for a trace that is still being read."""


class TraceReading:
    """One trace, read in a thread of its own.

    Arguments:
        folder: where the capture was saved, on a local file system.
        step: the first step after the capture.
    """

    def __init__(self, folder: str, step: int) -> None:
        self.step = step
        self._folder = folder
        self._trace: Trace | None = None
        self._error = "it takes too long"
        self._thread = threading.Thread(target=self._read, name="keras_perf-trace", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            self._trace = read_trace(self._folder)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            self._error = f"{type(error).__name__}: {error}"

    @property
    def is_done(self) -> bool:
        """The trace was read, or cannot be."""
        return not self._thread.is_alive()

    def result(self) -> Trace:
        """The trace; waits for it.

        Raises:
            ValueError: it cannot be read; the message says why.
        """
        self._thread.join(LONGEST_S)
        if self._trace is None:
            raise ValueError(self._error)
        return self._trace
