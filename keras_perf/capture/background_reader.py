"""Reads traces while training goes on."""

from __future__ import annotations

import shutil
import threading

from keras_perf.capture.trace_files import Saved
from keras_perf.observers.asking import unwarned
from keras_perf.trace.read_trace import read_trace
from keras_perf.trace.trace import Trace

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
