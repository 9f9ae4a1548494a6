"""Closes what is observed in a thread of its own, where the one at hand may not wait."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from keras_perf.records.run.ending import Ending


class Closes(Protocol):
    """An observation."""

    def close(self, *, aborted: bool = False, ending: Ending | None = None) -> None:
        """Training has ended, or raised."""


PATIENCE_S = 30.0
"""A reader waits no longer for runs that are being closed; they are then read as they are."""

_closing: set[threading.Thread] = set()
_here = threading.local()


def close_elsewhere(observation: Closes, ending: Ending) -> None:
    """Training has ended so."""

    def close() -> None:
        try:
            observation.close(aborted=True, ending=ending)
        finally:
            _closing.discard(threading.current_thread())

    thread = threading.Thread(target=close, name="keras_perf-closing")
    _closing.add(thread)
    try:
        thread.start()
    except RuntimeError:
        _closing.discard(thread)
        raise


def wait_for_those_closing(patience_s: float = math.inf) -> None:
    """What they give back is given back, and their runs are written, if that takes no longer."""
    if getattr(_here, "reads_own_run", False):
        return
    until = time.monotonic() + patience_s
    for thread in list(_closing):
        if thread.ident is not None and thread is not threading.current_thread():
            left_s = until - time.monotonic()
            thread.join(max(0.0, left_s) if math.isfinite(left_s) else None)


@contextmanager
def reading_own_run() -> Iterator[None]:
    """Who ends a run and reads what it has logged waits for no other."""
    _here.reads_own_run = True
    try:
        yield
    finally:
        _here.reads_own_run = False
