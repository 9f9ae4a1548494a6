"""The runs that the tab can show, read again only when they have grown."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from threading import Lock, Thread
from zlib import crc32

from keras_perf.analyse.training import trainings
from keras_perf.files.any_path import AnyPath, any_path, size_and_time
from keras_perf.files.remote_path import NoPathError, is_remote
from keras_perf.read.event_files import NoRunError, run_files
from keras_perf.read.file_content import ReadFiles
from keras_perf.read.left_out import once_each
from keras_perf.records.run_names import RUN, is_of_calls, without_worker
from keras_perf.report.run_report import RunReport, report_of
from keras_perf.tab.read_run import ReadRun

MOST_SCALARS = 5_000_000
"""Reports are kept in memory until their scalars are more than so many."""

PATIENCE_S = 2.0
"""Seconds that TensorBoard waits at most to hear whether there is a run."""

FRESH_S, REMOTE_FRESH_S = 2.0, 30.0
"""Seconds until directories are listed again; behind a URL each listing is a request."""


class UnknownRunError(Exception):
    """No run has this name."""


@dataclass(frozen=True)
class ShownRun:
    """A run below the directories that TensorBoard shows.

    Attributes:
        name: as the reader sees it.
        log_dir: to report.
        run: below it, the one that is meant.
        version: another one whenever its files have changed, or it was killed.
        changed: when they did, in seconds since 1970.
        place: among all of them as they were trained, those of the first directory before the next.
    """

    name: str
    log_dir: str
    run: str
    version: str
    changed: float
    place: int = 0


class ShownRuns:
    """Lists and reports them. Its methods may be called from several threads.

    Arguments:
        log_dirs: name → directory, as from `log_dirs`.
    """

    def __init__(self, log_dirs: Mapping[str, str]) -> None:
        self._log_dirs = log_dirs
        remote = any(is_remote(each) for each in log_dirs.values())
        self._fresh_s = REMOTE_FRESH_S if remote else FRESH_S
        self._listing, self._reading = Lock(), Lock()
        self._listed: tuple[ShownRun, ...] = ()
        self._listed_at = -float("inf")
        self._files = ReadFiles()
        self._left_out = set[str]()
        self._kept_runs: dict[tuple[str, str], tuple[str, ReadRun]] = {}
        self._killed: dict[tuple[str, str], tuple[int, weakref.ref[ReadRun]]] = {}

    def listed(self) -> tuple[ShownRun, ...]:
        """Trainings before calls, the newest first. It never waits for a run that is being read.

        While another thread lists them anew, these are those of the last time.
        """
        if not self._listing.acquire(blocking=not self._listed):
            return self._listed
        try:
            return self._listed_anew()
        finally:
            self._listing.release()

    def _listed_anew(self) -> tuple[ShownRun, ...]:
        with once_each(self._left_out):
            if time.monotonic() - self._listed_at >= self._fresh_s:
                found = [each for item in self._log_dirs.items() for each in _runs_below(*item)]
                trained = [
                    replace(run, place=place, version=self._version(run))
                    for place, run in enumerate(found)
                ]
                self._listed = tuple(sorted(trained, key=_how_new, reverse=True))
                self._listed_at = time.monotonic()
            return self._listed

    def _version(self, run: ShownRun) -> str:
        """Of its files, or another one where it has been killed, which changes none of them."""
        key = run.log_dir, run.run
        _, read = self._kept_runs.get(key, ("", None))
        times, last = self._killed.get(key, (0, lambda: None))
        if read is not None and read is not last() and read.was_killed:
            self._killed[key] = times, _ = times + 1, weakref.ref(read)
        return _hashed((run.version, times)) if times else run.version

    def any_known(self) -> bool:
        """Whether there is a run; looks only as long as none is known, and soon answers.

        TensorBoard asks each of its tabs before it shows any.
        """
        if not self._listed:
            looking = Thread(target=self.listed, daemon=True, name="keras_perf-tab-listing")
            looking.start()
            looking.join(PATIENCE_S)
        return bool(self._listed)

    def report(self, name: str) -> RunReport:
        """What is reported of the run with this name; raises as `read` does."""
        return self.read(name).report

    def read(self, name: str) -> ReadRun:
        """The run with this name; one run is read at a time.

        Raises:
            UnknownRunError: no run has it.
            OSError: it cannot be read.
        """
        run = next((each for each in self.listed() if each.name == name), None)
        if run is None:
            raise UnknownRunError(name)
        read = self._kept(run)
        if read is not None:
            return read
        with self._reading, once_each(self._left_out):
            # Another thread may have read it meanwhile.
            read = self._kept(run)
            if read is None:
                read = _read(run, self._files, shows_traces="" in self._log_dirs)
                self._keep(run, read)
            return read

    def _kept(self, run: ShownRun) -> ReadRun | None:
        version, read = self._kept_runs.get((run.log_dir, run.run), ("", None))
        return read if version == run.version else None

    def _keep(self, run: ShownRun, read: ReadRun) -> None:
        """In place of an earlier version.

        Where they are too many, those that were read last are given up first: whoever reads all
        of them in turn, again and again, as the table does, would else find none.
        """
        listed = {(each.log_dir, each.run) for each in self._listed} - {(run.log_dir, run.run)}
        self._kept_runs = {key: kept for key, kept in self._kept_runs.items() if key in listed}
        scalars = [len(kept.report.scalars) for _, kept in self._kept_runs.values()]
        while scalars and sum(scalars) + len(read.report.scalars) > MOST_SCALARS:
            self._kept_runs.popitem()
            scalars.pop()
        self._kept_runs[run.log_dir, run.run] = run.version, read


def _read(run: ShownRun, files: ReadFiles, *, shows_traces: bool) -> ReadRun:
    # Below a run another one may lie.
    found = [each for each in trainings(run.log_dir, content=files.content) if each.name == run.run]
    if not found:
        raise FileNotFoundError(f"{run.log_dir} holds no such run any more")
    # Under the name that TensorBoard has for it, not the directory on the server.
    report = replace(report_of(run.log_dir, found[0]), name=run.name)
    fit = found[0].fit
    of_tensorboard = PurePosixPath(run.name, fit.run).as_posix() if shows_traces else None
    return ReadRun(report, fit, of_tensorboard)


def _how_new(run: ShownRun) -> tuple[bool, float, int]:
    """S3 does not tell when; there the one that was trained last is newest."""
    return not is_of_calls(PurePosixPath(run.name).name), run.changed, run.place


def _runs_below(group: str, log_dir: str) -> list[ShownRun]:
    """In the order in which they were trained."""
    try:
        files = run_files(log_dir)
    except (NoRunError, NoPathError):
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
        RUN if place.name == RUN else ".",
        _hashed(told),
        max(seconds for _, (_, seconds) in told),
    )


def _hashed(told: object) -> str:
    return f"{crc32(repr(told).encode(errors='surrogateescape')):08x}"


def _state(file: AnyPath) -> tuple[int, float]:
    try:
        return size_and_time(file)
    except OSError:
        # It was taken away in this moment.
        return 0, 0.0
