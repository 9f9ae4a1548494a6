"""Event files: whole events only, also of a run still being written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event

from keras_perf.files.any_path import AnyPath, any_path, beginning, folders_below
from keras_perf.read.left_out import warn_left_out
from keras_perf.read.whole_records import (
    Records,
    Whole,
    end_of_cut,
    match_checksums,
    record_bytes,
    records,
    whole_records,
)
from keras_perf.records.fit_identity import file_suffix, sequence_of
from keras_perf.records.metrics.all_metrics import KEPT
from keras_perf.records.run_names import RUN, is_ours, without_worker

EVENT_FILE = "events.out.tfevents."
"""The name of an event file begins so."""

FIRST = 3
"""Events that a file begins with: its version, who wrote it, and what a trial found."""

WINDOW, MOST = 1 << 16, 1 << 28
"""Bytes in which these are looked for at first, and at most."""


class NoRunError(FileNotFoundError):
    """The log directory holds nothing that keras_perf wrote and that can be read."""


def run_files(
    log_dir: str | os.PathLike[str], *, nearest: bool = False
) -> dict[str, list[AnyPath]]:
    """Event files by run, oldest first, of every `perf` run under `log_dir`.

    `log_dir` may be a single event file of ours, too. A directory that cannot be listed is left
    out, with a warning.

    Arguments:
        log_dir: the directory given to the callbacks, or one above it.
        nearest: of a directory that has a run of its own only that: what else lies there, such as
            data or checkpoints in a bucket, is not listed.

    Raises:
        NoRunError: there is no such directory or no such run, or it cannot be read.
    """
    root = any_path(log_dir)
    if _is_our_file(root):
        return {".": [root]}
    _require_directory(root)
    refused: list[OSError] = []
    own = root / RUN
    found = _event_files(own, refused) if nearest and _is_folder(own) else []
    folders = {each.parent.relative_to(root).as_posix() for each in found}
    if RUN not in {without_worker(folder)[0] for folder in folders}:
        refused.clear()
        found = _event_files(root, refused)
    told = [f"{error.filename} cannot be read: {error.strerror}" for error in refused]
    if not found:
        raise NoRunError(
            "; ".join(told)
            or f"{str(root)!r} holds no run of keras_perf; "
            "train with callbacks=keras_perf.perf_callbacks(log_dir) first"
        )
    for each in told:
        warn_left_out(each)
    runs: dict[str, list[AnyPath]] = {}
    for path in sorted(found, key=_age):
        runs.setdefault(path.parent.relative_to(root).as_posix(), []).append(path)
    return runs


def _event_files(root: AnyPath, refused: list[OSError]) -> list[AnyPath]:
    found: list[AnyPath] = []
    for folder, names in folders_below(root, refused.append):
        if _is_our_folder(folder):
            found += [folder / name for name in names if name.startswith(EVENT_FILE)]
    return found


def _is_folder(path: AnyPath) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _is_our_folder(folder: AnyPath) -> bool:
    place = folder.resolve()
    return is_ours(place.name, place.parent.name)


def _is_our_file(path: AnyPath) -> bool:
    """An event file that lies where ours do."""
    named = path.name.startswith(EVENT_FILE) and _is_our_folder(path.parent)
    try:
        return named and path.is_file()
    except OSError:
        # That it cannot be looked at is said of what is no directory.
        return False


def _require_directory(root: AnyPath) -> None:
    why = ""
    try:
        if root.is_dir():
            return
        if isinstance(root, Path):
            root.stat()
    except PermissionError as error:
        why = f" that can be looked at: {error.strerror}"
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # No directory has a name with NUL in it.
        pass
    except OSError as error:
        raise NoRunError(f"{str(root)!r} cannot be read: {error.strerror}") from error
    raise NoRunError(f"there is no directory or event file of keras_perf {str(root)!r}{why}")


def _age(path: AnyPath) -> tuple[int, str, int]:
    """Sorts by the sequence, and then by TensorBoard's part of the name.

    It is …tfevents.<seconds>.<host>.<process>.<number of the writer>.
    """
    sequence = sequence_of(path.name)
    head, _, number = path.name.removesuffix(file_suffix(sequence)).rpartition(".")
    return sequence, head, int(number) if number.isdecimal() else 0


def parsed_events(whole: Whole, places: Iterable[int]) -> Iterator[tuple[int, Event | None]]:
    """Some of the records as events; None for what is no event."""
    for place in places:
        begin, length = int(whole.begin[place]), int(whole.length[place])
        yield place, _parsed(whole.data[begin : begin + length])


def tell_what_is_left_out(path: AnyPath, bytes_: int, lost: int, cut: int) -> None:
    """One warning for what is damaged, and one for a tail that is not a whole record."""
    if lost:
        warn_left_out(
            f"{path} is damaged: {lost:,} of its {bytes_:,} bytes do not match their "
            "checksums. What they held is left out, everything else is shown.",
            thing=f"{path} is damaged",
        )
    if cut:
        warn_left_out(
            f"{path} ends in the middle of a record "
            f"({cut} bytes dropped): its writer was killed or is still writing.",
            thing=f"{path} is cut off",
        )


def events(path: AnyPath) -> Iterator[Event]:
    """Events of one file.

    Records that do not match their checksums are left out, and so is a tail that is not a whole
    record (the writer was killed, or is still at it), each with one warning a file.
    """
    whole = whole_records(path.read_bytes())
    lost = whole.lost_bytes
    for place, event in parsed_events(whole, range(len(whole.begin))):
        if event is None:
            lost += record_bytes(whole, place)
        else:
            yield event
    tell_what_is_left_out(path, len(whole.data), lost, whole.cut_bytes)


def first_events(path: AnyPath) -> list[Event]:
    """What a file begins with, without a warning.

    Of what a trial found a header tells how long it is: a request more for each record that does
    not end within the window.
    """
    most = WINDOW
    data = beginning(path, most)
    found = records(data)
    for _ in range(FIRST):
        if len(found.begin) >= FIRST or len(data) < most:
            break
        most = (end_of_cut(data, found) or most) + WINDOW
        if most > MOST:
            break
        data = beginning(path, most)
        found = records(data)
    return list(_some(data, found, range(FIRST)))


def logged_between(path: AnyPath) -> tuple[float, float] | None:
    """First and last time at which a file logged scalars, from its ends; None if it did not."""
    data = path.read_bytes()
    found = records(data)
    places = range(len(found.begin))
    times = []
    for order in (places, reversed(places)):
        scalars = (event for event in _some(data, found, order) if _has_scalars(event))
        times += [event.wall_time for event in islice(scalars, 1)]
    return (min(times), max(times)) if times else None


def _has_scalars(event: Event) -> bool:
    return any(
        value.HasField("simple_value") or value.tag.startswith(KEPT)
        for value in event.summary.value
    )


def _some(data: bytes, found: Records, places: Iterable[int]) -> Iterator[Event]:
    """Those of the whole events that are at these places."""
    for place in places:
        if place >= len(found.begin):
            return
        begin, length = [found.begin[place]], [found.length[place]]
        event = _parsed(data[begin[0] : begin[0] + length[0]])
        if event is not None and match_checksums(data, Records(begin, length, 0, 0))[0]:
            yield event


def _parsed(data: bytes) -> Event | None:
    """The event; None if the bytes are none."""
    try:
        return Event.FromString(data)
    except Exception:  # noqa: BLE001  protobuf's DecodeError differs between its runtimes
        return None
