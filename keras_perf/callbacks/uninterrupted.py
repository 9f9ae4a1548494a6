"""Ctrl-C must not cut a capture's saving in its middle."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that end a program are answered after the `with`, as they would have been inside.

    TensorFlow's profiler that is interrupted while it saves believes for ever that it runs. Only
    what listens in Python can raise, and only in the main thread: elsewhere nothing changes.
    """
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    main = threading.current_thread() is threading.main_thread()
    listeners = {number: signal.getsignal(number) for number in _ENDING} if main else {}
    listening = {number: each for number, each in listeners.items() if callable(each)}
    for number in listening:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, listener in listening.items():
            signal.signal(number, listener)
        for heard, frame in came:
            listening[signal.Signals(heard)](heard, frame)
