"""Which runs under a log directory are one training."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

import pandas as pd

from keras_perf.analyse.summary import Summary, summarize
from keras_perf.read.scalars import load_newest

Run = tuple[pd.DataFrame, dict[str, Any]]
"""Scalars and context record."""

CLOCKS_APART_S = 600.0
"""The clocks of two machines are assumed to differ by no more."""

_WORKER = "worker_"


@dataclass(frozen=True)
class Training:
    """The newest training of a run, or of the runs of several workers.

    Attributes:
        name: the run's path below the log directory, without the workers' own part.
        run: of the only worker; of several, of the chief or the first there is.
        workers: the runs of all workers by number; empty where there is only one.
    """

    name: str
    run: Run = field(repr=False)
    workers: Mapping[int, Run] = field(repr=False, default_factory=dict)

    @property
    def scalars(self) -> pd.DataFrame:
        """Of the chief, or of the only worker."""
        return self.run[0]

    def summary(self) -> Summary:
        """What the chief, or the only worker, measured, and the others beside it."""
        own = summarize(*self.run)
        if not self.workers:
            return own
        first, *others = sorted(self.workers)
        found = [own.as_worker(first)]
        found += [summarize(*self.workers[number]).as_worker(number) for number in others]
        return replace(own, workers=tuple(found))


def trainings(log_dir: str | os.PathLike[str]) -> tuple[Training, ...]:
    """The newest training of each run: of the log directory itself, or else of all below it.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
    """
    alone: dict[str, Run] = {}
    several: dict[str, dict[int, Run]] = {}
    order = []
    for path, run in load_newest(log_dir).items():
        parent, number = _place(path)
        order.append(parent)
        if number is None:
            alone[parent] = run
        else:
            several.setdefault(parent, {})[number] = run
    found = [_newest(name, alone.get(name), several.get(name, {})) for name in dict.fromkeys(order)]
    own = [training for training in found if training.name in ("perf", ".")]
    return tuple(own or found)


def newest_training(log_dir: str | os.PathLike[str]) -> Training:
    """The one training under a log directory.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
        ValueError: several are there.
    """
    found = trainings(log_dir)
    if len(found) > 1:
        raise ValueError(
            f"log_dir must hold one run, {os.fspath(log_dir)!r} holds {len(found)}: "
            f"{', '.join(sorted(each.name for each in found))}. Give the directory of one of them."
        )
    return found[0]


def _place(path: str) -> tuple[str, int | None]:
    """A run's path without its worker's part, and the worker's number."""
    run = PurePosixPath(path)
    number = run.name.removeprefix(_WORKER)
    if run.name.startswith(_WORKER) and number.isdigit():
        return run.parent.as_posix(), int(number)
    return path, None


def _newest(name: str, alone: Run | None, workers: dict[int, Run]) -> Training:
    if alone is not None and (not workers or _span(alone)[1] > max(map(_end, workers.values()))):
        return Training(name, alone)
    chief = min(workers)
    begin, _ = _span(workers[chief])
    asked = workers[chief][1].get("workers") or max(workers) + 1
    # What is older, or of more workers than there are, is left from an earlier training.
    since = begin - CLOCKS_APART_S
    those = {
        n: run for n, run in workers.items() if n == chief or (n < asked and _end(run) > since)
    }
    return Training(name, workers[chief], those)


def _span(run: Run) -> tuple[float, float]:
    """First and last time at which something was logged; −∞ if nothing was."""
    times = run[0]["wall_time"]
    return (float(times.min()), float(times.max())) if len(times) else (float("-inf"),) * 2


def _end(run: Run) -> float:
    return _span(run)[1]
