"""The fits below a log directory, and what each of them logged."""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from keras_perf.files.any_path import AnyPath, size_and_time
from keras_perf.observers.closing_elsewhere import PATIENCE_S, wait_for_those_closing
from keras_perf.read.event_files import NoRunError, first_events, logged_between, run_files
from keras_perf.read.file_content import FileContent, content_of
from keras_perf.read.left_out import warn_left_out
from keras_perf.read.valid_scalars import valid_scalars
from keras_perf.records.fit_identity import FIT_TAG, FitIdentity, sequence_of
from keras_perf.records.metrics.all_metrics import CONTEXT_TAG, STEP_MS, STEPS
from keras_perf.records.run.run_facts import RunFacts, from_json

SHOWN = 3
"""So many values that cannot be true are named."""


@dataclass(frozen=True, eq=False)
class Fit:
    """One `fit`: one event file. What it logged is read when it is first asked for.

    The file may grow: another `Fit` of it may know more, and is another one.

    Attributes:
        run: the path of its directory below the log directory.
        path: its file.
        identity: who wrote it.
        tried: what a trial found, where the file is of one and not of a training.
        content_of: reads the file, or knows what it holds.
    """

    run: str
    path: AnyPath
    identity: FitIdentity
    tried: Mapping[str, Any] = field(default_factory=dict)
    content_of: Callable[[AnyPath], FileContent] = content_of

    @cached_property
    def logged(self) -> pd.DataFrame:
        """All scalars as they are in the file, with the columns of `load_scalars`."""
        scalars = self._read.scalars
        run = pd.Categorical.from_codes([0] * len(scalars), categories=pd.Index([self.run]))
        logged = scalars.copy(deep=False)
        logged.insert(0, "run", pd.Series(run, index=scalars.index))
        return logged

    @cached_property
    def scalars(self) -> pd.DataFrame:
        """Those that can be true."""
        possible, wrong = valid_scalars(self.logged)
        if wrong:
            more = f" and {len(wrong) - SHOWN:,} more" if len(wrong) > SHOWN else ""
            warn_left_out(
                f"{self.path} holds impossible values, which are left out: "
                f"{', '.join(wrong[:SHOWN])}{more}.",
                thing=f"{self.path} holds impossible values",
            )
        return possible

    @cached_property
    def facts(self) -> RunFacts:
        """The newest facts; none while training has not come to its first interval."""
        known, wrong = from_json(self._read.context)
        if wrong:
            warn_left_out(
                f"{self.path}: parts of its record of settings cannot be read and are left out: "
                f"{', '.join(wrong)}."
            )
        return known

    @cached_property
    def steps(self) -> int:
        """The steps that it measured: those of intervals whose step time is known."""
        timed = self.scalars["step"][self.scalars["tag"] == STEP_MS]
        rows = (self.scalars["tag"] == STEPS) & self.scalars["step"].isin(timed)
        return int(self.scalars[rows].drop_duplicates("step", keep="last")["value"].sum())

    @cached_property
    def span(self) -> tuple[float, float]:
        """First and last time at which it logged scalars; −∞ if it never did."""
        try:
            found = self._ends if "_read" in self.__dict__ else logged_between(self.path)
        except OSError:
            found = None
        usable = found is not None and all(map(math.isfinite, found))
        return found if found is not None and usable else (-math.inf, -math.inf)

    @property
    def _ends(self) -> tuple[float, float] | None:
        times = self._read.scalars["wall_time"].to_numpy()
        if not len(times):
            return None
        first, last = sorted((float(times[0]), float(times[-1])))
        return first, last

    @cached_property
    def _read(self) -> FileContent:
        return self.content_of(self.path)


def fits_of(
    log_dir: str | os.PathLike[str],
    content: Callable[[AnyPath], FileContent] = content_of,
    *,
    nearest: bool = False,
) -> dict[str, list[Fit]]:
    """All fits of each run, oldest first: by sequence, then by when they began, then by name.

    Arguments:
        log_dir: the directory given to the callbacks, or one above it.
        content: reads a file, or knows what it holds.
        nearest: of a directory that has a run of its own, that alone.

    A file that cannot be read is left out, with a warning.

    Raises:
        NoRunError: there is none that can be read.
    """
    wait_for_those_closing(PATIENCE_S)
    found: dict[str, list[Fit]] = {}
    refused = []
    for run, paths in run_files(log_dir, nearest=nearest).items():
        for path in paths:
            try:
                fit = Fit(run, path, *_beginning(path), content)
            except OSError as error:
                refused.append(f"{path} cannot be read: {error.strerror}")
            else:
                found.setdefault(run, []).append(fit)
    if not found:
        raise NoRunError("; ".join(refused))
    for each in refused:
        warn_left_out(each)
    for fits in found.values():
        fits.sort(key=_age)
    return found


def _age(fit: Fit) -> tuple[int, float]:
    """Those of one age keep the order of their names, as do all of earlier versions."""
    sequence, started = fit.identity.sequence, fit.identity.started
    return sequence, started if sequence else 0.0


def _beginning(path: AnyPath) -> tuple[FitIdentity, dict[str, Any]]:
    """Who wrote it, and what a trial found: a file of a trial begins with it.

    Of a local file that is as it was it is remembered: a loop may call `fit` a thousand times, and
    each is told of those before it.
    """
    if isinstance(path, Path):
        return _remembered(path, size_and_time(path))
    return _read_beginning(path)


@lru_cache(maxsize=4096)
def _remembered(path: Path, _as_it_is: tuple[int, float]) -> tuple[FitIdentity, dict[str, Any]]:
    return _read_beginning(path)


def _read_beginning(path: AnyPath) -> tuple[FitIdentity, dict[str, Any]]:
    identity, tried = None, {}
    for event in first_events(path):
        for value in event.summary.value:
            if value.tag == FIT_TAG and value.tensor.string_val:
                identity = FitIdentity.from_json(value.tensor.string_val[0])
            elif value.tag == CONTEXT_TAG and value.tensor.string_val:
                tried = _tried(value.tensor.string_val[0])
    return identity or _told_by_name(path.name), tried


def _tried(written: bytes) -> dict[str, Any]:
    """What a trial found; {} where a training wrote it, of which more is known."""
    try:
        facts, _ = from_json(json.loads(written))
    except (ValueError, RecursionError):
        return {}
    tried = facts.tried_alone
    return tried if facts == RunFacts(**tried) else {}


def _told_by_name(name: str) -> FitIdentity:
    """What the name of the file tells; the host's name may have dots."""
    words = name.removeprefix("events.out.tfevents.").split(".")
    numbers = [int(word) if word.isdecimal() and len(word) < 12 else 0 for word in words]
    host_ends = -3 if sequence_of(name) else -2
    known = len(words) >= 2 - host_ends
    return FitIdentity(
        id=f"{zlib.crc32(os.fsencode(name)):08x}",
        sequence=sequence_of(name),
        started=float(numbers[0]),
        host=".".join(words[1:host_ends]) if known else "",
        process=numbers[host_ends] if known else 0,
    )
