"""What an event file holds: its scalars as a frame, and the newest record of the run."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from keras_perf.files.any_path import AnyPath, bytes_from
from keras_perf.read.alike_events import AlikeEvents, alike_events
from keras_perf.read.event_files import parsed_events, tell_what_is_left_out
from keras_perf.read.left_out import warn_left_out
from keras_perf.read.whole_records import Whole, record_bytes, whole_records
from keras_perf.records.metrics.all_metrics import CONTEXT_TAG, KEPT

MOST_SCALARS = 5_000_000
"""Files are remembered until their scalars are more than so many."""

SEAM = 64
"""Bytes before the place from which a file is read on; others there mean another file."""


@dataclass(frozen=True, eq=False)
class FileContent:
    """What was read of a file.

    Attributes:
        scalars: a row a value with `tag`, `step`, `wall_time`, `value`, as they were written.
        context: the newest record of the run, decoded; empty without one.
        end: up to here its records are whole; None where something before is damaged.
        seam: the bytes that end there.
    """

    scalars: pd.DataFrame = field(repr=False)
    context: Any = field(repr=False)
    end: int | None = None
    seam: bytes = b""


NOTHING = FileContent(
    pd.DataFrame(
        {
            "tag": pd.Categorical([]),
            "step": pd.array([], dtype="int64"),
            "wall_time": pd.array([], dtype="float64"),
            "value": pd.array([], dtype="float64"),
        }
    ),
    {},
    0,
)


class ReadFiles:
    """Remembers what files held; of one that has grown only what is new is read.

    Its methods may be called from several threads.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[str, FileContent] = OrderedDict()

    def content(self, path: AnyPath) -> FileContent:
        """What the file holds now."""
        with self._lock:
            before = self._known.pop(str(path), NOTHING)
        now = content_of(path, before)
        with self._lock:
            self._known[str(path)] = now
            while len(self._known) > 1 and self._scalars() > MOST_SCALARS:
                self._known.popitem(last=False)
        return now

    def _scalars(self) -> int:
        return sum(len(each.scalars) for each in self._known.values())


def content_of(path: AnyPath, before: FileContent = NOTHING) -> FileContent:
    """What a file holds; damaged records and a cut tail are left out, with a warning.

    Arguments:
        path: the file.
        before: what it held when it was read last. Files of ours only grow; one that does not
            continue what was read is read from its beginning.

    Raises:
        OSError: it cannot be read.
    """
    begin = None if before.end is None else before.end - len(before.seam)
    data = bytes_from(path, begin or 0)
    if begin is None or not data.startswith(before.seam):
        data, before = (bytes_from(path, 0) if begin else data), NOTHING
    seam = len(before.seam)
    whole = whole_records(data[seam:] if seam else data)
    new, context, lost = _content(path, whole, before.context)
    lost += whole.lost_bytes
    start = before.end or 0
    tell_what_is_left_out(path, start + len(whole.data), lost, whole.cut_bytes)
    used = len(whole.data) - whole.cut_bytes
    end = None if lost else start + used
    scalars = _joined(before.scalars, new)
    return FileContent(scalars, context, end, data[: seam + used][-SEAM:])


def _joined(before: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    if not len(before) or not len(new):
        return new if len(new) else before
    tags = pd.api.types.union_categoricals([before["tag"], new["tag"]])
    columns = {
        name: np.concatenate([before[name].to_numpy(), new[name].to_numpy()])
        for name in ("step", "wall_time", "value")
    }
    return pd.DataFrame({"tag": tags, **columns})


def _content(path: AnyPath, whole: Whole, context: Any) -> tuple[pd.DataFrame, Any, int]:
    """The scalars, the newest record, and how many bytes are in records that are no events."""
    alike = list(alike_events(whole.data, whole.begin, whole.length))
    single = np.ones(len(whole.begin), dtype=bool)
    for group in alike:
        single[group.places] = False
    lost = 0
    for place, event in parsed_events(whole, np.flatnonzero(single).tolist()):
        if event is None:
            lost += record_bytes(whole, place)
            continue
        known = [pair for each in event.summary.value if (pair := _figure(each)) is not None]
        if known:
            alike.append(_one(place, event.step, event.wall_time, known))
        for value in event.summary.value:
            if value.tag == CONTEXT_TAG and not value.HasField("simple_value"):
                context = _decoded(value.tensor.string_val, path, context)
    return _frame(alike, len(whole.begin)), context, lost


def _figure(value: Any) -> tuple[str, float] | None:
    """Tag and number of what is a scalar to us."""
    if value.HasField("simple_value"):
        return value.tag, value.simple_value
    if value.tag.startswith(KEPT) and value.tensor.float_val:
        return value.tag.removeprefix(KEPT), value.tensor.float_val[0]
    return None


def _one(place: int, step: int, time: float, known: list[tuple[str, float]]) -> AlikeEvents:
    return AlikeEvents(
        np.array([place]),
        tuple(tag for tag, _ in known),
        np.array([step], dtype=np.int64),
        np.array([time]),
        np.array([[number for _, number in known]]),
    )


def _frame(groups: list[AlikeEvents], events: int) -> pd.DataFrame:
    """A row a value, in the order of the events."""
    counts = np.zeros(events, dtype=np.int64)
    for group in groups:
        counts[group.places] = len(group.tags)
    ends = np.cumsum(counts)
    rows = int(ends[-1]) if events else 0
    codes = np.empty(rows, dtype=np.int64)
    steps, times, values = np.empty(rows, dtype=np.int64), np.empty(rows), np.empty(rows)
    tags: dict[str, int] = {}
    for group in groups:
        count = len(group.tags)
        at = (ends - counts)[group.places][:, None] + np.arange(count)
        codes[at] = [tags.setdefault(tag, len(tags)) for tag in group.tags]
        steps[at], times[at] = group.steps[:, None], group.times[:, None]
        values[at] = group.values
    # In the order in which pandas would have them.
    names = sorted(tags)
    place_of = np.empty(len(tags), dtype=np.int64)
    place_of[[tags[name] for name in names]] = np.arange(len(names))
    tag = pd.Categorical.from_codes(place_of[codes] if rows else codes, categories=pd.Index(names))
    return pd.DataFrame({"tag": tag, "step": steps, "wall_time": times, "value": values})


def _decoded(written: Any, path: AnyPath, before: Any) -> Any:
    """The facts of a run; where it cannot be decoded, the one before it."""
    try:
        return json.loads(written[0])
    except (ValueError, IndexError, RecursionError):
        warn_left_out(
            f"{path}: a record of settings is damaged and left out; without it there is less "
            "advice."
        )
        return before
