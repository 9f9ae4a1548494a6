"""The one door to TensorFlow's profiler."""

from __future__ import annotations

import contextlib
import shutil
import weakref
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.profiler import profiler_v2

from keras_perf.capture.late_marker import LateMarker
from keras_perf.capture.trace_files import CaptureError, Saved, begun, kept, saved_in
from keras_perf.observers.asking import unwarned


class _Number(int):
    """An option's number that survives `ProfilerOptions`.

    TensorFlow 2.20 and 2.21 turn ints and None into bools on the way to the tracer, warn, and
    ignore the options; an int whose truth cannot be told gets through unharmed on all versions.
    """

    def __bool__(self) -> bool:
        raise TypeError("an option's number has no truth value")


class _Session(NamedTuple):
    log_dir: str
    staging: str
    record: weakref.ref[Any] | None
    """TensorFlow's own of it, where it keeps one; to hold it would keep the session running."""


_session: _Session | None = None


def _record() -> weakref.ref[Any] | None:
    running = getattr(profiler_v2, "_profiler", None)
    return None if running is None else weakref.ref(running)


def start(log_dir: str) -> None:
    """Starts a capture that will lie under `log_dir`/plugins/profile.

    Raises:
        CaptureError: another profiler is running, or the profiler refuses, or there is no room.
    """
    global _session
    _session = _Session(log_dir, begun(log_dir, _start), _record())


def _start(staging: str) -> None:
    options = tf.profiler.experimental.ProfilerOptions(
        host_tracer_level=_Number(2),
        python_tracer_level=_Number(0),
        device_tracer_level=_Number(1),
        delay_ms=_Number(0),
    )
    try:
        unwarned(tf.profiler.experimental.start, staging, options)
    except tf.errors.AlreadyExistsError as error:
        if isinstance(error.__context__, tf.errors.OpError):
            # Refused by the runtime, not by Python: a session that Python knows nothing of is
            # running, unharmed, and Python now believes in one of its own that never began.
            with contextlib.suppress(tf.errors.OpError):
                tf.profiler.experimental.stop(save=False)
        raise CaptureError("another profiler is running") from error
    except tf.errors.OpError as error:
        raise CaptureError(str(error)) from error


def stop() -> Saved:
    """Ends the capture and saves it.

    Returns:
        Where it lies and its size. Where that is remote, a local copy is left for its reader.

    Raises:
        CaptureError: there is none, or it cannot be written; the message says where what there
            is of it was left.
    """
    global _session
    session, _session = _session, None
    if session is None:
        raise CaptureError("there is none to save")
    _stop(session)
    return kept(session.staging, session.log_dir)


def _stop(session: _Session) -> None:
    """Lets TensorFlow save it, unless somebody has ended it already: then it may be saved."""
    reason = "somebody else has ended it without saving"
    try:
        if session.record == _record():
            tf.profiler.experimental.stop()
        if saved_in(session.staging):
            return
    except (tf.errors.OpError, OSError) as error:
        # What may lie there is cut off in its middle: nobody can read it.
        reason = str(error)
    shutil.rmtree(session.staging, ignore_errors=True)
    raise CaptureError(reason)


def step_marker(step: int) -> AbstractContextManager[None]:
    """Marks one step of a custom training loop, so that xprof counts it.

    Everything that belongs to the step goes into the `with`, also fetching its batch: xprof
    takes the marker's length for the step's. Outside of a capture it costs about a microsecond.

    Arguments:
        step: its number, such as the optimizer's `iterations` before it.

    Returns:
        A context manager; the step begins where the `with` is entered.

    >>> import keras_perf as kp
    >>> for step in range(3):
    ...     with kp.step_marker(step):
    ...         pass  # train_step(next(iterator))
    """
    return LateMarker(tf.profiler.experimental.Trace, step_num=step, _r=1)
