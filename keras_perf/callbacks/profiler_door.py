"""The one door to TensorFlow's profiler."""

from __future__ import annotations

import contextlib
import time
from contextlib import AbstractContextManager
from typing import Any

import tensorflow as tf


class CaptureError(RuntimeError):
    """A capture could not be started or saved; the message says why."""


class _Level(int):
    """A tracer level that survives `ProfilerOptions`.

    TensorFlow 2.20 and 2.21 turn ints into bools on the way to the tracer and then ignore the
    options; an int whose truth cannot be told gets through unharmed on all versions.
    """

    def __bool__(self) -> bool:
        raise TypeError("a tracer level has no truth value")


_last_capture_second = 0


def start(log_dir: str) -> None:
    """Starts a capture that will lie under `log_dir`/plugins/profile.

    Raises:
        CaptureError: another profiler is running, or the profiler refuses.
    """
    global _last_capture_second
    # The profiler names folders to the second; two in one second would overwrite each other.
    while int(time.time()) == _last_capture_second:
        time.sleep(0.01)
    options = tf.profiler.experimental.ProfilerOptions(
        host_tracer_level=_Level(2), python_tracer_level=_Level(0), device_tracer_level=_Level(1)
    )
    try:
        tf.profiler.experimental.start(log_dir, options)
    except tf.errors.AlreadyExistsError as error:
        if isinstance(error.__context__, tf.errors.OpError):
            # Refused by the runtime, not by Python: a session that Python knows nothing of is
            # running, unharmed, and Python now believes in one of its own that never began.
            with contextlib.suppress(tf.errors.OpError):
                tf.profiler.experimental.stop(save=False)
        raise CaptureError("another profiler is running") from error
    except tf.errors.OpError as error:
        raise CaptureError(str(error)) from error


def stop() -> None:
    """Ends the capture and saves it.

    Raises:
        CaptureError: there is none, or it cannot be written.
    """
    global _last_capture_second
    _last_capture_second = int(time.time())
    try:
        tf.profiler.experimental.stop()
    except (tf.errors.OpError, OSError) as error:
        raise CaptureError(str(error)) from error


def step_marker(step: int) -> AbstractContextManager[Any]:
    """Marks one step so that xprof counts it. Its clock starts here."""
    marker: AbstractContextManager[Any] = tf.profiler.experimental.Trace(
        "train", step_num=step, _r=1
    )
    return marker
