"""A run as it is reported: what every form of the report is made of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from keras_perf.analyse.summary import Summary
from keras_perf.analyse.training import Training, trainings
from keras_perf.files.any_path import any_path
from keras_perf.records.interval import PARTS
from keras_perf.records.rates import Rates
from keras_perf.records.run.input.pipeline import Stage
from keras_perf.records.run.times.outlier import Outlier
from keras_perf.records.run_names import RUN
from keras_perf.report.diagnosis import NO_RATES, Diagnosis, diagnosis_of_training


@dataclass(frozen=True)
class RunReport:
    """One run's name, diagnosis and scalars; None is what the run could not tell.

    Attributes:
        name: its log directory; `keras-perf report` takes it.
        diagnosis: where its time goes, why, and what to do.
        scalars: as `load_scalars` returns them.
    """

    name: str
    diagnosis: Diagnosis
    scalars: pd.DataFrame = field(repr=False)

    @property
    def summary(self) -> Summary:
        """What was measured."""
        return self.diagnosis.summary

    @property
    def step_ms(self) -> float | None:
        """Milliseconds per step."""
        return self.summary.step_ms if self.summary.steps else None

    @property
    def parts(self) -> dict[str, float | None]:
        """Milliseconds per step by part."""
        return {part: self.summary.parts.get(part) for part in PARTS}

    @property
    def steps_per_sec(self) -> float | None:
        """Optimizer steps per second of training time."""
        return 1e3 / self.step_ms if self.step_ms else None

    @property
    def examples_per_sec(self) -> float | None:
        """Training examples per second of training time."""
        examples, pace = self.summary.examples_per_step, self.steps_per_sec
        return examples * pace if examples and pace else None

    @property
    def joules_per_example(self) -> float | None:
        """Energy of the sampled GPUs for each training example."""
        examples, joules = self.summary.examples_per_step, self.diagnosis.efficiency.joules_per_step
        return joules / examples if examples and joules is not None else None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The input pipeline's stages, from the source to the last one."""
        return self.summary.facts.input.stages

    @property
    def events(self) -> tuple[Outlier, ...]:
        """The longest steps and pauses, worst first."""
        return self.summary.facts.outliers.events

    def with_details(self) -> RunReport:
        """The same with its diagnosis's details among the notes."""
        return replace(self, diagnosis=self.diagnosis.with_details())

    def times_as_fast_as(self, first: RunReport) -> float | None:
        """Per example where both know their batch size, else per step, as `compare` has it."""
        if not self.steps_per_sec or not first.steps_per_sec:
            return None
        if self.examples_per_sec and first.examples_per_sec:
            return self.examples_per_sec / first.examples_per_sec
        return self.steps_per_sec / first.steps_per_sec


def run_reports(
    log_dirs: Iterable[str | os.PathLike[str]],
    fit: str | int | None = None,
    rates: Rates = NO_RATES,
) -> tuple[RunReport, ...]:
    """The newest `fit` of each run that measured steps; those of several workers are one.

    Returns:
        The runs of the first directory, then those of the next; below one directory in the order
        in which they were trained.

    Arguments:
        log_dirs: directories given to the callbacks, each reported alone as `diagnose` does, or
            directories above several of them.
        fit: id or sequence of another one to report, of the runs that have it.
        rates: what the user knows of prices and of the machine.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is in one of them.
        UnknownFitError: (a ValueError) no run of one of them has that fit.
    """
    reports = []
    for log_dir in log_dirs:
        for training in trainings(log_dir, fit):
            reports.append(report_of(log_dir, training, rates))
    return tuple(reports)


def report_of(
    log_dir: str | os.PathLike[str], training: Training, rates: Rates = NO_RATES
) -> RunReport:
    """One of the trainings below a log directory."""
    name = str(any_path(log_dir) / training.name.removesuffix(RUN))
    return RunReport(name, diagnosis_of_training(training, rates), training.scalars)


def first_measured(reports: Sequence[RunReport]) -> RunReport:
    """The first with a measured step, beside which the others are shown; else the first."""
    return next((each for each in reports if each.summary.steps), reports[0])
