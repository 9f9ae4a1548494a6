"""Which runs under a log directory are one training, and which of its fits is shown."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple

import pandas as pd

from keras_perf.analyse.cpu_share import used_pct
from keras_perf.analyse.summary import Summary, summarize
from keras_perf.files.any_path import AnyPath
from keras_perf.read.file_content import FileContent, content_of
from keras_perf.read.fits import Fit, fits_of
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run_names import RUN, without_worker

ADVICE, BEFORE = "advice_trials", "tried_before"
"""Facts of the training itself, and of what was there before it."""

CLOCKS_APART_S = 600.0
"""The clocks of two machines are assumed to differ by no more."""


class UnknownFitError(ValueError):
    """No fit, or more than one, is called so."""


@dataclass(frozen=True)
class Training:
    """One training of a run, or of the runs of several workers.

    Attributes:
        name: the run's path below the log directory, without the workers' own part.
        fit: of the only worker; of several, of the chief or the first there is.
        workers: the fits of all workers by number; empty where there is only one.
        fits: all that wrote where `fit` did, oldest first; it is one of them.
    """

    name: str
    fit: Fit
    workers: Mapping[int, Fit] = field(repr=False, default_factory=dict)
    fits: Sequence[Fit] = field(repr=False, default=())

    @property
    def scalars(self) -> pd.DataFrame:
        """Of the chief, or of the only worker."""
        return self.fit.scalars

    def summary(self) -> Summary:
        """What the chief, or the only worker, measured, and beside it those that measured too."""
        own = summarize(self.fit.scalars, self._facts)
        found = []
        for number, fit in sorted(self.workers.items()):
            one = own if fit is self.fit else summarize(fit.scalars, fit.facts)
            if one.steps:
                beside = fit is not self.fit and fit.identity.on_machine_of(self.fit.identity)
                found.append(one.as_worker(number, used_pct(one) if beside else 0.0))
        return replace(own, workers=tuple(found))

    @property
    def _facts(self) -> RunFacts:
        """The fit's own, and what was tried last beside it."""
        tried: dict[str, Any] = {}
        for fit in self.fits:
            tried |= fit.tried
        of_advice = _advice_tried(self.fits, self.fit) if ADVICE in tried else {}
        tried.pop(ADVICE, None)
        return replace(self.fit.facts, **tried, **of_advice)


def trainings(
    log_dir: str | os.PathLike[str],
    fit: str | int | None = None,
    content: Callable[[AnyPath], FileContent] = content_of,
) -> tuple[Training, ...]:
    """A training of each run: of the log directory itself, or else of all below it.

    Arguments:
        log_dir: the directory given to the callbacks, or one above it.
        fit: id or sequence of the one to show, and then the runs that have it; None for the
            newest that measured steps.
        content: reads a file, or knows what it holds.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
        UnknownFitError: (a ValueError) there is no such fit.
    """
    found_runs = _runs(fits_of(log_dir, content, nearest=True))
    runs = [run for run in found_runs if run.name in (RUN, ".")] or found_runs
    if fit is None:
        return tuple(_newest(*run) for run in runs)
    found = tuple(named for run in runs if (named := _named(*run, str(fit))) is not None)
    if not found:
        there = [fit for _, alone_, workers in runs for fit in _leading(alone_, workers)]
        raise UnknownFitError(f"fit must be one of {_listed(there)}, got {fit!r}")
    return found


def measured_trainings(log_dir: str | os.PathLike[str]) -> tuple[Training, ...]:
    """A training of each fit below a log directory that measured steps, oldest first.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
    """
    found: list[Training] = []
    for name, alone, workers in _runs(fits_of(log_dir)):
        found += [Training(name, fit, fits=alone) for fit in alone if fit.steps]
        chiefs = workers[min(workers)] if workers else []
        found += [_of_workers(name, fit, workers) for fit in chiefs if fit.steps]
    return tuple(sorted(found, key=lambda training: training.fit.identity.started))


def _advice_tried(fits: Sequence[Fit], shown: Fit) -> dict[str, Any]:
    """What trials found on the training shown, and on what was there before it.

    Those that follow on a training, before the next one, were made on it, also where `evaluate` or
    `predict` was called in between. Of a program that trained afterwards they tell what it was like
    before.
    """
    if shown.tried:
        # There is no training.
        newest = [fit.tried for fit in fits if ADVICE in fit.tried][-1]
        return {ADVICE: shown.tried.get(ADVICE, newest[ADVICE])}
    place, found = list(fits).index(shown), dict[str, Any]()
    for fit in fits[:place]:
        found |= {BEFORE: fit.tried[ADVICE]} if ADVICE in fit.tried else {}
    for fit in takewhile(_trained_nothing, fits[place + 1 :]):
        found |= {ADVICE: fit.tried[ADVICE]} if ADVICE in fit.tried else {}
    return found


def _trained_nothing(fit: Fit) -> bool:
    return bool(fit.tried) or fit.facts.calls_only


class _Run(NamedTuple):
    """The fits of a run's path: of a training alone, and of several workers by number."""

    name: str
    alone: list[Fit]
    workers: dict[int, list[Fit]]


def _runs(fits_by_path: Mapping[str, list[Fit]]) -> list[_Run]:
    runs: dict[str, _Run] = {}
    for path, fits in fits_by_path.items():
        parent, number = without_worker(path)
        run = runs.setdefault(parent, _Run(parent, [], {}))
        if number is None:
            run.alone.extend(fits)
        else:
            run.workers[number] = fits
    return list(runs.values())


def newest_training(log_dir: str | os.PathLike[str], fit: str | int | None = None) -> Training:
    """The one training under a log directory.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.
        ValueError: several are there, or not the fit that is asked for.
    """
    found = trainings(log_dir, fit)
    # Calls of `evaluate` and `predict` beside it may have a directory of their own.
    found = tuple(each for each in found if not each.fit.facts.calls_only) or found
    if len(found) > 1:
        raise ValueError(
            f"log_dir must hold one run, {os.fspath(log_dir)!r} holds {len(found)}: "
            f"{', '.join(sorted(each.name for each in found))}. Give the directory of one of them."
        )
    return found[0]


def newest_measured(fits: Sequence[Fit]) -> Fit:
    """The newest that measured steps; the newest if none did."""
    return next((fit for fit in reversed(fits) if fit.steps), fits[-1])


def _newest(name: str, alone: list[Fit], workers: dict[int, list[Fit]]) -> Training:
    """Of a training alone and one of several workers the one that logged last."""
    candidates = [newest_measured(fits) for fits in (alone, *workers.values()) if fits]
    measured = [fit for fit in candidates if fit.steps] or candidates
    last = max(measured, key=lambda fit: fit.span[1])
    if alone and (not workers or last is candidates[0]):
        return Training(name, candidates[0], fits=alone)
    return _of_workers(name, newest_measured(workers[min(workers)]), workers)


def _named(
    name: str, alone: list[Fit], workers: dict[int, list[Fit]], wanted: str
) -> Training | None:
    """The training of the fit with this id or sequence; None if the run has none."""
    leading = _leading(alone, workers)
    found = [fit for fit in leading if fit.identity.id == wanted]
    found = found or [fit for fit in leading if str(fit.identity.sequence) == wanted]
    if not found:
        return None
    if len(found) > 1:
        raise UnknownFitError(f"fit {wanted!r} may be any of {_listed(found)}: give the id of one")
    if found[0] in alone:
        return Training(name, found[0], fits=alone)
    return _of_workers(name, found[0], workers)


def _leading(alone: list[Fit], workers: dict[int, list[Fit]]) -> list[Fit]:
    """Those that can be asked for: a worker's come with the chief's."""
    return [*alone, *(workers[min(workers)] if workers else ())]


def _listed(fits: Sequence[Fit]) -> str:
    return ", ".join(f"{fit.identity.id!r} (sequence {fit.identity.sequence})" for fit in fits)


def _of_workers(name: str, chief: Fit, workers: dict[int, list[Fit]]) -> Training:
    """The chief's fit with those of the other workers that belong to it.

    What is of another time, or of more workers than there are, is of another training.
    """
    first = min(workers)
    asked = chief.facts.settings.workers or max(workers) + 1
    those = {first: chief}
    for number, fits in workers.items():
        near = [fit for fit in fits if seconds_apart(fit, chief) < CLOCKS_APART_S]
        if number != first and number < asked and near:
            those[number] = _beside(near, chief, newest=chief is newest_measured(workers[first]))
    return Training(name, chief, those, workers[first])


def _beside(near: list[Fit], chief: Fit, *, newest: bool) -> Fit:
    """Which of a worker's fits ran with the chief's: with the newest the newest.

    Else the one that ran at the same time for longest, by the clocks of their machines.
    """
    if newest:
        return newest_measured(near)
    measured = [fit for fit in near if fit.steps] or near
    return min(measured, key=lambda fit: seconds_apart(fit, chief))


def seconds_apart(one: Fit, other: Fit) -> float:
    """Seconds between two fits; for how long they overlap, as a negative number."""
    apart = max(one.span[0], other.span[0]) - min(one.span[1], other.span[1])
    return math.inf if math.isnan(apart) else apart
