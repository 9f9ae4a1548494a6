"""The end of a training: a stop that is asked for from outside, and the exit of its process."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, NoReturn


class StopOnSignal:
    """Notes SIGTERM for the time of a `with`; the loop stops at the end of a step.

    To be made after the strategy: the one of several workers takes SIGTERM for itself. Python gives
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

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)


def leave(code: int) -> NoReturn:
    """Ends this process with an exit code, at once; to be a program's last line.

    Python's own end waits for TensorFlow to take its datasets down. That never comes where a
    Python function of the input pipeline is at work (`from_generator`, `numpy_function`): it
    waits for the interpreter, which waits for it, and a launcher that waits for the exit code
    waits with them. With several workers it takes seconds in any case.

    What `atexit` knows is done, and both streams are flushed. Other threads are not waited for.
    Python has no public way to that (`atexit._run_exitfuncs`, private); where it is not there,
    one line says what is lost.
    """
    run = getattr(atexit, "_run_exitfuncs", None)
    if run is None:
        print("keras_perf: functions registered with atexit did not run.", file=sys.stderr)
    else:
        run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
