"""The runs that the tab can show, read again only when they have grown."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from threading import Lock
from zlib import crc32

from keras_perf.files.any_path import AnyPath, any_path, size_and_time
from keras_perf.files.remote_path import RemotePath
from keras_perf.read.event_files import NoRunError, run_files
from keras_perf.records.run_names import RUN, without_worker
from keras_perf.report.run_report import RunReport, run_reports

KEPT = 64
"""So many reports are kept in memory."""

FRESH_S, REMOTE_FRESH_S = 2.0, 30.0
"""Seconds until directories are listed again; behind a URL each listing is a request."""


@dataclass(frozen=True)
class ShownRun:
    """A run below the directories that TensorBoard shows.

    Attributes:
        name: as the reader sees it.
        log_dir: to report.
        version: another one whenever its files have changed.
        changed: when they did, in seconds since 1970.
    """

    name: str
    log_dir: str
    version: str
    changed: float


class ShownRuns:
    """Lists and reports them. Its methods may be called from several threads.

    Arguments:
        log_dirs: name → directory, as from `log_dirs`.
        clock: seconds.
    """

    def __init__(
        self, log_dirs: Mapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log_dirs, self._clock = log_dirs, clock
        remote = any(isinstance(any_path(each), RemotePath) for each in log_dirs.values())
        self._fresh_s = REMOTE_FRESH_S if remote else FRESH_S
        self._lock = Lock()
        self._listed: tuple[ShownRun, ...] = ()
        self._listed_at = -float("inf")
        self._reports: OrderedDict[tuple[str, str], RunReport] = OrderedDict()

    def listed(self) -> tuple[ShownRun, ...]:
        """The newest first."""
        with self._lock:
            if self._clock() - self._listed_at >= self._fresh_s:
                found = [each for item in self._log_dirs.items() for each in _runs_below(*item)]
                self._listed = tuple(sorted(found, key=lambda run: run.changed, reverse=True))
                self._listed_at = self._clock()
            return self._listed

    def report(self, name: str) -> RunReport:
        """Of the run with this name.

        Raises:
            KeyError: no run has it.
            OSError: it cannot be read.
        """
        run = {each.name: each for each in self.listed()}[name]
        with self._lock:
            key = run.log_dir, run.version
            if key not in self._reports:
                [self._reports[key]] = run_reports([run.log_dir])
                if len(self._reports) > KEPT:
                    self._reports.popitem(last=False)
            self._reports.move_to_end(key)
            return self._reports[key]


def _runs_below(group: str, log_dir: str) -> list[ShownRun]:
    try:
        files = run_files(log_dir)
    except NoRunError:
        return []
    trainings: dict[str, list[AnyPath]] = {}
    for run, paths in files.items():
        trainings.setdefault(without_worker(run)[0], []).extend(paths)
    return [_shown(group, log_dir, run, paths) for run, paths in trainings.items()]


def _shown(group: str, log_dir: str, run: str, files: Iterable[AnyPath]) -> ShownRun:
    place = PurePosixPath(run)
    below = place.parent if place.name == RUN else place
    told = [(str(file), _state(file)) for file in sorted(files, key=str)]
    return ShownRun(
        str(PurePosixPath(group, below)),
        str(any_path(log_dir) / str(below)),
        f"{crc32(repr(told).encode(errors='surrogateescape')):08x}",
        max(seconds for _, (_, seconds) in told),
    )


def _state(file: AnyPath) -> tuple[int, float]:
    try:
        return size_and_time(file)
    except OSError:
        # It was taken away in this moment.
        return 0, 0.0
