"""A log directory that can be written, and is made when something is written to it."""

from __future__ import annotations

import errno
import os
import secrets
import socket
import stat
from functools import cache
from pathlib import Path

from keras_perf.files.any_path import absolute
from keras_perf.files.remote_path import RemotePath, is_remote, require_whole
from keras_perf.records.run_names import RUN


def writable_log_dir(log_dir: str | os.PathLike[str]) -> str:
    """`log_dir` as a string, absolute if it is local, after making sure that it can be written.

    On a local disk it is not made yet: a call that is refused for another argument, or a training
    that never begins, leaves no empty directory behind.

    Raises:
        TypeError: not a str or os.PathLike.
        ValueError: empty, a name that event files cannot have, or a URL that was a `pathlib.Path`.
        OSError: the directory cannot be written, or the one in which it would be made.
    """
    if not isinstance(log_dir, str | os.PathLike):
        raise TypeError(
            f"log_dir must be a str or os.PathLike, got {type(log_dir).__name__} {log_dir!r}. "
            "Give the directory that TensorBoard is started on, such as 'logs/run1'."
        )
    path = os.fspath(log_dir)
    if not isinstance(path, str) or not path:
        raise ValueError(
            f"log_dir must name a directory, got {log_dir!r}. "
            "Give the directory that TensorBoard is started on, such as 'logs/run1'."
        )
    if "\0" in path or not _is_unicode(path):
        raise ValueError(
            f"log_dir must be a name in Unicode without NUL, got {path!r}: TensorFlow and "
            "TensorBoard cannot open any other. Choose another directory."
        )
    if is_remote(path):
        _make_remote(path)
        return path
    try:
        path = absolute(require_whole(path))
        probe = _existing(Path(path) / RUN) / _probe_name()
        probe.touch()
        probe.unlink(missing_ok=True)
    except OSError as error:
        raise type(error)(
            error.errno,
            f"log_dir must be writable, got {os.fspath(log_dir)!r} ({error.strerror}). "
            "Choose another directory or change its permissions",
        ) from error
    return path


def _probe_name() -> str:
    """A name that no other process chooses: in containers all of them may have the same PID."""
    return f".writable.{socket.gethostname()}.{secrets.token_hex(8)}"


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists.

    Raises:
        OSError: something else is in the way, or it may not be looked at.
    """
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError:
        return _existing(folder.parent)
    if not stat.S_ISDIR(mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    return folder


@cache
def _make_remote(path: str) -> None:
    """Makes the run's folder, once: each question to an object store takes tens of milliseconds."""
    remote = RemotePath.of(path)
    if not remote.name:
        raise ValueError(f"log_dir must name a directory behind its ://, got {path!r}.")
    try:
        (remote / RUN).make_folder()
    except OSError as error:
        raise type(error)(
            error.errno,
            f"log_dir must be writable, got {path!r} ({error.strerror}). "
            "Choose another directory or look at the access to this one",
        ) from error


def _is_unicode(path: str) -> bool:
    """Whether UTF-8 has it: bytes that are none become surrogates in a path, which it lacks."""
    return not any("\ud800" <= each <= "\udfff" for each in path)
