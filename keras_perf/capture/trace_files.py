"""Where traces are written, and how they get where TensorBoard finds them.

TensorFlow names a capture's folder to the second and its file after the host, so that two
captures in one second, of one process or of several, would overwrite each other. Each is
therefore written into a folder of its own, and then moved to a name that nobody has taken.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keras_perf.files.remote_path import RemotePath, is_remote
from keras_perf.observers.capture_windows.cost import LARGEST_BYTES

PROFILES = os.path.join("plugins", "profile")


class CaptureError(RuntimeError):
    """A capture could not be started or saved; the message says why."""


class Saved(NamedTuple):
    """A saved capture."""

    folder: str
    size_bytes: int
    copy: str | None = None
    """Of a remote one, a local folder to read it from, which the reader removes."""


def begun(log_dir: str, start: Callable[[str], None]) -> str:
    """Starts a capture that will lie under `log_dir`/plugins/profile.

    Arguments:
        log_dir: a folder, also a remote one.
        start: starts a profiler that saves into the folder it is given; raises CaptureError
            where that refuses.

    Returns:
        The folder that was given, for `kept`.

    Raises:
        CaptureError: the profiler refuses, or nothing can be written, or there is no room.
    """
    try:
        staging = _staging_folder(log_dir)
        disk = shutil.disk_usage(staging)
    except OSError as error:
        raise CaptureError(f"{log_dir!r} cannot be written ({error})") from error
    try:
        # Some network file systems tell no size at all: 0 of 0 bytes are free.
        if disk.total and disk.free < LARGEST_BYTES:
            free_mib = disk.free / 2**20
            raise CaptureError(f"only {free_mib:.0f} MiB are free on the disk of {staging!r}")
        start(staging)
    except CaptureError:
        shutil.rmtree(staging, ignore_errors=True)
        raise
    return staging


def kept(staging: str, log_dir: str) -> Saved:
    """Puts a capture that a profiler has saved where TensorBoard finds it.

    Raises:
        CaptureError: it cannot be written there; the message says where it was left.
    """
    try:
        saved = _moved(staging, log_dir)
    except OSError as error:
        raise CaptureError(
            f"it could not be moved to {log_dir!r} ({error}) and lies in {staging!r}"
        ) from error
    if saved.copy is None:
        shutil.rmtree(staging, ignore_errors=True)
    return saved


def _staging_folder(log_dir: str) -> str:
    """A new folder to capture into: on the same file system, or a local one if that is remote."""
    if is_remote(log_dir):
        return tempfile.mkdtemp(prefix="keras_perf-capture-")
    os.makedirs(log_dir, exist_ok=True)
    return tempfile.mkdtemp(prefix=".capture-", dir=log_dir)


def saved_in(staging: str) -> list[str]:
    """The files of a capture."""
    profiles = os.path.join(staging, PROFILES)
    folders = sorted(os.listdir(profiles)) if os.path.isdir(profiles) else []
    return [
        os.path.join(profiles, folder, name)
        for folder in folders
        for name in sorted(os.listdir(os.path.join(profiles, folder)))
    ]


def _moved(staging: str, log_dir: str) -> Saved:
    """Moves a capture into `log_dir`, beside those that are there; to a remote one it is copied."""
    files = saved_in(staging)
    size = sum(os.path.getsize(file) for file in files)
    second = os.path.basename(os.path.dirname(files[0]))
    folder = _new_folder(os.path.join(log_dir, PROFILES), second)
    try:
        for file in files:
            target = os.path.join(folder, os.path.basename(file))
            if is_remote(log_dir):
                RemotePath.of(target).write_bytes(Path(file).read_bytes())
            else:
                shutil.move(file, target)
    except OSError:
        # TensorBoard would show an empty folder as a trace.
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        raise
    return Saved(folder, size, staging if is_remote(log_dir) else None)


def _new_folder(profiles: str, second: str) -> str:
    if is_remote(profiles):
        return _new_remote_folder(RemotePath.of(profiles), f"{second}_{os.getpid()}")
    os.makedirs(profiles, exist_ok=True)
    for number in itertools.count(1):
        folder = os.path.join(profiles, second if number == 1 else f"{second}_{number}")
        try:
            os.mkdir(folder)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable")


def _new_remote_folder(profiles: RemotePath, name: str) -> str:
    """An object store makes no folder exclusively: the process tells two of one second apart."""
    for number in itertools.count(1):
        folder = profiles / (name if number == 1 else f"{name}_{number}")
        if not folder.exists():
            folder.make_folder()
            return str(folder)
    raise AssertionError("unreachable")
