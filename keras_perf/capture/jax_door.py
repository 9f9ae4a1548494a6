"""The one door to JAX's profiler."""

from __future__ import annotations

import shutil
import socket
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import jax

from keras_perf.capture.late_marker import LateMarker
from keras_perf.capture.trace_files import PROFILES, CaptureError, Saved, begun, kept, saved_in


class _Session(NamedTuple):
    log_dir: str
    staging: str


_session: _Session | None = None


def start(log_dir: str) -> None:
    """Starts a capture that will lie under `log_dir`/plugins/profile.

    Raises:
        CaptureError: another profiler is running, or the profiler refuses, or there is no room.
    """
    global _session
    _session = _Session(log_dir, begun(log_dir, _start))


def _start(staging: str) -> None:
    options = jax.profiler.ProfileOptions()
    # Each call of a Python function would be an event, and slow the step down many times.
    options.python_tracer_level = 0
    try:
        jax.profiler.start_trace(staging, profiler_options=options)
    except (RuntimeError, ValueError) as error:
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
    try:
        _save(session.staging)
    except (RuntimeError, ValueError, OSError) as error:
        shutil.rmtree(session.staging, ignore_errors=True)
        raise CaptureError(f"{error}{_end(session)}") from error
    if not saved_in(session.staging):
        shutil.rmtree(session.staging, ignore_errors=True)
        raise CaptureError("somebody else has ended it without saving")
    return kept(session.staging, session.log_dir)


def _save(staging: str) -> None:
    """Training waits for it, so it is what TensorFlow's profiler saves, and no more.

    `stop_trace` writes all of it as JSON too, which takes longer than the rest: of 40 steps with a
    loop of a hundred rounds 0.9 s in place of 0.37. What it calls is private
    (`jax._src.profiler._profile_state`); where that is elsewhere, all is saved. Somebody else may
    have ended it, and begun one that is not ours to end.
    """
    try:
        from jax._src.profiler import _profile_state

        with _profile_state.lock:
            running, forget = _profile_state.profile_session, _profile_state.reset
            if running is None or _profile_state.log_dir != staging:
                return
            stop = running.stop
            traced = stop()
            forget()
    except (ImportError, AttributeError):
        jax.profiler.stop_trace()
        return
    folder = Path(staging, PROFILES, time.strftime("%Y_%m_%d_%H_%M_%S"))
    folder.mkdir(parents=True)
    (folder / f"{socket.gethostname()}.xplane.pb").write_bytes(traced)


def _end(session: _Session) -> str:
    """Lets another capture begin: JAX goes on believing in one that it could not save.

    Its record of what runs is private (`jax._src.profiler._profile_state`). Where that is
    elsewhere, no capture follows in this process; what is returned says so.
    """
    try:
        from jax._src.profiler import _profile_state

        with _profile_state.lock:
            if _profile_state.log_dir == session.staging:
                _profile_state.reset()
    except (ImportError, AttributeError):
        return "; JAX's profiler takes no other capture in this process"
    return ""


def captures() -> bool:
    """A capture of ours is running."""
    return _session is not None


def step_marker(step: int) -> AbstractContextManager[None]:
    """Marks one step, so that xprof counts it."""
    return LateMarker(jax.profiler.StepTraceAnnotation, step_num=step)
