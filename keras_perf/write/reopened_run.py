"""A run's event file that is open only while something is written."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.record_writer import RecordWriter

from keras_perf.files.any_path import any_path
from keras_perf.files.remote_path import RemotePath
from keras_perf.records.fit_identity import FIT_TAG, file_suffix
from keras_perf.records.metrics.all_metrics import CONTEXT_TAG
from keras_perf.records.run_names import RUN
from keras_perf.write.fit_of_process import identity_of_fit
from keras_perf.write.plotted_tags import PlottedTags
from keras_perf.write.run_writer import CONTEXT_PLUGIN, scalar_events, string_event


class ReopenedRun:
    """Appends to one file, which the first `write` makes.

    Arguments:
        log_dir: the directory that TensorBoard is started on.
        run: below it.
        clock: seconds since the epoch.
    """

    def __init__(
        self, log_dir: str, run: str = RUN, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder, self._clock = os.path.join(log_dir, run), clock
        self._plots = PlottedTags()
        self._path, self._remote = "", b""

    def write(self, step: int, scalars: Mapping[str, float], context: Mapping[str, Any]) -> None:
        """Scalars at one step, and the facts of the run, of which the newest count.

        Raises:
            OSError: the file cannot be written.
        """
        found = [string_event(step, CONTEXT_TAG, json.dumps(context, default=str), CONTEXT_PLUGIN)]
        if scalars:
            found += self._plotted(step, scalars)
        self._append(found)

    def scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        """Scalars at one step; raises as `write`."""
        self._append(self._plotted(step, scalars))

    def _plotted(self, step: int, scalars: Mapping[str, float]) -> list[Event]:
        now = self._clock()
        return scalar_events(step, scalars, now, self._plots.sort(step, scalars, now))

    def _append(self, found: list[Event]) -> None:
        now = self._clock()
        if not self._path:
            found = [*self._beginning(now), *found]
        content = BytesIO()
        records = RecordWriter(content)
        for event in found:
            event.wall_time = event.wall_time or now
            records.write(event.SerializeToString())
        self._add(content.getvalue())

    def _add(self, content: bytes) -> None:
        """To the end of the file: TensorBoard's own files cannot, where TensorFlow is not there."""
        path = any_path(self._path)
        if isinstance(path, RemotePath):
            # A store that does not answer may say that it has no such file.
            self._remote += content
            path.write_bytes(self._remote)
            return
        with path.open("ab") as file:
            file.write(content)

    def _beginning(self, now: float) -> list[Event]:
        fit = identity_of_fit(self._folder, now)
        folder = any_path(self._folder)
        if isinstance(folder, RemotePath):
            folder.make_folder()
        else:
            folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(now):010d}.{fit.host}.{fit.process}.0"
        self._path = os.path.join(self._folder, name + file_suffix(fit.sequence))
        identity = string_event(0, FIT_TAG, fit.to_json(), CONTEXT_PLUGIN)
        return [Event(file_version="brain.Event:2"), identity]
