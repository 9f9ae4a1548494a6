"""Few, full events in a run of our own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Set
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_FLOAT, DT_STRING

from keras_perf.files.remote_path import is_remote
from keras_perf.records.fit_identity import FIT_TAG, file_suffix
from keras_perf.records.metrics.all_metrics import CONTEXT_TAG, KEPT
from keras_perf.records.run_names import RUN
from keras_perf.write.event_file import EventFile, Events
from keras_perf.write.fit_of_process import identity_of_fit
from keras_perf.write.layout import layout_bytes
from keras_perf.write.plotted_tags import PlottedTags, Sorted
from keras_perf.write.remote_event_file import RemoteEventFile

CONTEXT_PLUGIN = "keras_perf"
"""TensorBoard has no such plugin and passes over these values; they are for our reader."""


class RunWriter:
    """Writes one run: scalars, Markdown text, the facts of the run and a dashboard layout.

    Attributes:
        fit: who writes, which is the first that the file holds.
    """

    def __init__(
        self, log_dir: str, run: str = RUN, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        folder = os.path.join(log_dir, run)
        self.fit = identity_of_fit(folder, clock())
        suffix = file_suffix(self.fit.sequence)
        kind = RemoteEventFile if is_remote(folder) else EventFile
        self._events: Events = kind(folder, filename_suffix=suffix)
        self._plots = PlottedTags()
        self._tags: set[str] = set()
        self._text_tags: set[str] = set()
        self._string(0, FIT_TAG, self.fit.to_json().encode(), CONTEXT_PLUGIN)

    def scalars(self, step: int, values: Mapping[str, float], wall_time: float) -> None:
        """All values at one step; tags that are plotted for the first time get into the layout."""
        if not values:
            return
        found = self._plots.sort(step, values, wall_time)
        if new := values.keys() - found.kept - self._tags:
            self._tags |= new
            self._layout()
        for event in scalar_events(step, values, wall_time, found):
            self._events.add_event(event)

    def text(self, step: int, tag: str, markdown: str) -> None:
        """Markdown for the Text tab."""
        self._string(step, tag, markdown.encode(), "text", first=tag not in self._text_tags)
        self._text_tags.add(tag)

    def picture(self, step: int, tag: str, png: bytes, size: tuple[int, int]) -> None:
        """A picture for the Images tab; its width and height in pixels."""
        image = Summary.Image(width=size[0], height=size[1], colorspace=3, encoded_image_string=png)
        event = Event(step=step, summary=Summary(value=[Summary.Value(tag=tag, image=image)]))
        self._add(event, self._clock())

    def context(self, step: int, context: Mapping[str, Any]) -> None:
        """What the figures cannot tell about the run; the newest one counts."""
        self._string(step, CONTEXT_TAG, json.dumps(context, default=str).encode(), CONTEXT_PLUGIN)

    def flush(self) -> None:
        """Hands everything to the file system; what is remote follows when it is time."""
        self._events.flush()

    def flush_now(self) -> None:
        """Hands everything to the file system, also to a remote one."""
        self._events.flush_now()

    def close(self) -> None:
        """Flushes and closes the file."""
        self._events.close()

    def _layout(self) -> None:
        content = layout_bytes(self._tags)
        self._string(0, "custom_scalars__config__", content, "custom_scalars")

    def _string(
        self, step: int, tag: str, content: bytes, plugin: str, *, first: bool = True
    ) -> None:
        self._add(string_event(step, tag, content, plugin, first=first), self._clock())

    def _add(self, event: Event, wall_time: float) -> None:
        event.wall_time = wall_time
        self._events.add_event(event)


def scalar_events(
    step: int, values: Mapping[str, float], wall_time: float, found: Sorted
) -> list[Event]:
    """All values at one step, behind the first points of tags that were kept back until now.

    Arguments:
        step: of the optimizer, or the number of the call.
        values: by tag.
        wall_time: seconds since the epoch.
        found: what `PlottedTags` says of them.
    """
    first = [
        Event(
            step=point.step,
            wall_time=point.wall_time,
            summary=Summary(value=[_tensor_value(tag, point.value, "scalars")]),
        )
        for tag, point in found.late.items()
    ]
    now = scalar_event(step, values, found.kept)
    now.wall_time = wall_time
    return [*first, now]


def scalar_event(step: int, values: Mapping[str, float], kept: Set[str] = frozenset()) -> Event:
    """All values at one step, without the time; TensorBoard passes over the tags in `kept`."""
    written = [
        _tensor_value(KEPT + tag, value, CONTEXT_PLUGIN)
        if tag in kept
        else Summary.Value(tag=tag, simple_value=value)
        for tag, value in values.items()
    ]
    return Event(step=step, summary=Summary(value=written))


def _tensor_value(tag: str, value: float, plugin: str) -> Any:
    """A value that our reader takes for a scalar only if its tag says that it was kept back."""
    tensor = TensorProto(dtype=DT_FLOAT, float_val=[value])
    return Summary.Value(tag=tag, tensor=tensor, metadata=_metadata(plugin))


def _metadata(plugin: str) -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))


def string_event(
    step: int, tag: str, content: str | bytes, plugin: str, *, first: bool = True
) -> Event:
    """A text for a plugin, which its tag's first event names; without the time."""
    encoded = content.encode() if isinstance(content, str) else content
    value = Summary.Value(tag=tag, tensor=TensorProto(dtype=DT_STRING, string_val=[encoded]))
    if first:
        value.metadata.CopyFrom(_metadata(plugin))
    return Event(step=step, summary=Summary(value=[value]))
