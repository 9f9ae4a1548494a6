"""Ctrl-C must not cut what gives things back in its middle."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE_S = 10.0
"""Ctrl-C while we give things back is answered when that is done, or after so many seconds."""

_ENDING = (signal.SIGINT, signal.SIGTERM)

_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def uninterrupted(patience_s: float | None = None) -> Iterator[None]:
    """Signals that end a program are answered after the `with`, as they would have been inside.

    TensorFlow's profiler that is interrupted while it saves believes for ever that it runs. Only
    a handler in Python can raise, and only in the main thread: elsewhere nothing changes.

    Arguments:
        patience_s: seconds after which a signal is answered inside after all; None for never.
    """
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _ENDING} if main else {}
    handled = {number: each for number, each in handlers.items() if callable(each)}
    deferred = _Deferred(handled, patience_s)
    if main:
        _deferring.append(deferred)
    for number in handled:
        signal.signal(number, deferred.note)
    try:
        yield
    finally:
        deferred.end()
        if main:
            _deferring.remove(deferred)
        for number, handler in handled.items():
            signal.signal(number, handler)
        deferred.answer()


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside `uninterrupted`: the first Ctrl-C raises KeyboardInterrupt here, others wait.

    So does the first SIGTERM that has a handler in Python, which is called afterwards. What came
    since `uninterrupted` began is raised at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = {number: signal.getsignal(number) for number in _ENDING}

    def handle_again() -> None:
        for number, handler in waiting.items():
            if callable(handler):
                signal.signal(number, handler)

    def answer(number: int, frame: FrameType | None) -> None:
        handle_again()
        handler = waiting[signal.Signals(number)]
        if number == signal.SIGTERM and callable(handler):
            handler(number, frame)
        raise KeyboardInterrupt

    for number, handler in waiting.items():
        if callable(handler):
            signal.signal(number, answer)
    try:
        if _deferring and _deferring[-1].gives_up():
            raise KeyboardInterrupt
        yield
    finally:
        handle_again()


class _Deferred:
    """Signals that came, and their handlers."""

    def __init__(self, handled: dict[signal.Signals, _Handler], patience_s: float | None) -> None:
        self._handlers, self._patience_s = handled, patience_s
        self._came: dict[int, FrameType | None] = {}
        self._timer: threading.Timer | None = None
        self._late = self._ended = False
        self._waking = threading.Lock()

    def note(self, number: int, frame: FrameType | None) -> None:
        self._came.setdefault(number, frame)
        if self._ended or self._patience_s is None:
            return
        if self._late:
            self.answer()
        elif self._timer is None:
            self._timer = threading.Timer(self._patience_s, self._wake, (number,))
            self._timer.daemon = True
            self._timer.start()

    def gives_up(self) -> bool:
        """Whether a signal came, which is raised now; of these only SIGTERM is answered again."""
        came = bool(self._came)
        self._came.pop(signal.SIGINT, None)
        return came

    def _wake(self, number: int) -> None:
        """In a thread of its own: the main thread may hang in a call that a signal ends."""
        with self._waking:
            if self._ended:
                return
            self._late = True
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, number)
            else:
                _thread.interrupt_main(signal.Signals(number))

    def end(self) -> None:
        """From here on nothing is raised but by `answer`."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        with self._waking:
            pass

    def answer(self) -> None:
        """Calls the handler of each that came; the same one twice counts once, as in a system."""
        came, self._came = self._came, {}
        for number, frame in came.items():
            self._handlers[signal.Signals(number)](number, frame)


_deferring: list[_Deferred] = []
"""Those of the main thread that are open, the innermost last."""
