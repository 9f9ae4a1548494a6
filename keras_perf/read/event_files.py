"""The record loop over event files: complete events only, also of a run still being written."""

from __future__ import annotations

import os
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event

_HEADER = struct.Struct("<QI")
_FOOTER_BYTES = 4


class NoRunError(FileNotFoundError):
    """The log directory holds nothing that keras_perf wrote."""


def run_files(log_dir: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """Event files by run, oldest first, of every `perf` run under `log_dir`.

    Raises:
        NoRunError: there is no such directory or no such run.
    """
    root = Path(log_dir)
    if not root.is_dir():
        raise NoRunError(f"there is no directory {str(root)!r}")
    runs: dict[str, list[Path]] = {}
    for path in sorted(root.rglob("events.out.tfevents.*"), key=_age):
        if _is_ours(path.parent.resolve()):
            runs.setdefault(path.parent.relative_to(root).as_posix(), []).append(path)
    if not runs:
        raise NoRunError(
            f"{str(root)!r} holds no run of keras_perf; "
            "train with callbacks=keras_perf.perf_callbacks(log_dir) first"
        )
    return runs


def _is_ours(run: Path) -> bool:
    """`…/perf`, or of several workers `…/perf/worker_<k>`."""
    return run.name == "perf" or (run.parent.name == "perf" and run.name.startswith("worker_"))


def _age(path: Path) -> tuple[str, int]:
    """Sorts TensorBoard's names: …tfevents.<seconds>.<host>.<process>.<number of the writer>."""
    head, _, number = path.name.rpartition(".")
    return head, int(number) if number.isdigit() else 0


def events(path: Path) -> Iterator[Event]:
    """Events of one file.

    A tail that is not a whole record (the writer was killed, or is still at it) is dropped
    with a warning. Checksums are not verified: a local file's length tells the damage that
    happens, and verifying costs more than reading.
    """
    data = path.read_bytes()
    position, end = 0, len(data)
    while position + _HEADER.size <= end:
        length, _ = _HEADER.unpack_from(data, position)
        start = position + _HEADER.size
        if not length or start + length + _FOOTER_BYTES > end:
            break
        try:
            yield Event.FromString(data[start : start + length])
        except Exception:  # noqa: BLE001  protobuf's DecodeError differs between its runtimes
            break
        position = start + length + _FOOTER_BYTES
    if position != end:
        warnings.warn(
            f"keras_perf: {path.name} ends in the middle of a record "
            f"({end - position} bytes dropped): its writer was killed or is still writing.",
            stacklevel=2,
        )
