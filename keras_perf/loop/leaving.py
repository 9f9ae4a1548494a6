"""The end of a training's process."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


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
        print("keras_perf: what was registered with atexit is not done.", file=sys.stderr)
    else:
        run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
