"""A stop that is asked for from outside, and the exit code that says so."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class StopOnSignal:
    """Notes SIGTERM for the time of a `with`; the loop stops at the end of a step.

    To be made after the strategy: that of several workers takes SIGTERM for itself. Python gives
    signals to its main thread alone: in another one, such as Ray Train's, none is noted.

    Attributes:
        asked: SIGTERM has come.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._note) or signal.SIG_DFL
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)
