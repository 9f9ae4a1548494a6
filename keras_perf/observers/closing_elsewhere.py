"""Closes what is observed in a thread of its own, where the one at hand may not wait."""

from __future__ import annotations

import threading
from typing import Protocol

from keras_perf.records.run.ending import Ending


class Closes(Protocol):
    """An observation."""

    def close(self, *, aborted: bool = False, ending: Ending | None = None) -> None:
        """Training has ended, or raised."""


PATIENCE_S = 30.0
"""A reader waits no longer for a run that is being closed; it is then read as it is."""

_closing: set[threading.Thread] = set()


def close_elsewhere(observation: Closes, ending: Ending) -> None:
    """Training has ended so."""

    def close() -> None:
        try:
            observation.close(aborted=True, ending=ending)
        finally:
            _closing.discard(threading.current_thread())

    thread = threading.Thread(target=close, name="keras_perf-closing")
    _closing.add(thread)
    thread.start()


def wait_for_those_closing() -> None:
    """What they give back is given back, and their runs are written."""
    if threading.current_thread() in _closing:
        # It reads its own run.
        return
    for thread in list(_closing):
        thread.join(PATIENCE_S)
