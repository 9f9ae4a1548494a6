"""What settings of the environment gain, each beside the environment as it is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from keras_perf.observers.usable_cores import usable_cores
from keras_perf.records.reasons.why_not_tried import EndedBy, WhyNotTried
from keras_perf.records.run.tried.advice_trials import (
    ENVIRONMENT,
    AdviceTrials,
    NotTried,
    TriedChange,
)
from keras_perf.records.text.error_line import error_line
from keras_perf.trials.environment.handed_training import HandedTraining
from keras_perf.trials.environment.process import FailedError, TrainingProcess, training_process
from keras_perf.trials.environment.settings import EnvironmentSetting, possible_settings
from keras_perf.trials.measuring.in_turn import in_turn
from keras_perf.trials.measuring.progress import Progress
from keras_perf.trials.other_process.program_settings import ProgramSettings
from keras_perf.trials.training.budget import Budget
from keras_perf.trials.training.recorded_change import as_tried
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.training_change import TrainingChange
from keras_perf.trials.training.trier import CLEARLY_SLOWER

LIMIT_S = 120.0
"""Seconds for a process to begin, and for each of its answers."""


def settings_to_try() -> list[EnvironmentSetting]:
    """Those that differ from how this process was started."""
    program = ProgramSettings.of_this_process()
    threads = {"intra_op": program.intra_op, "inter_op": program.inter_op}
    return list(possible_settings(os.environ, usable_cores() or 1, threads, on_gpu=program.on_gpu))


@dataclass
class EnvironmentTrials:
    """Tries one setting after the other, each in a process that takes turns with one without it.

    Arguments:
        setup: the training as it is; its callbacks are not called.
        budget: seconds for all of it; what is being measured then is finished.
        outside_ms: milliseconds of a step that trials do not run.
        progress: told what is tried.

    Attributes:
        changes: those that were measured.
        not_tried: those that were not.
        stopped: it was over before all was tried.
    """

    setup: Setup
    budget: Budget
    outside_ms: float
    progress: Progress = field(default_factory=Progress)
    changes: list[TriedChange] = field(default_factory=list)
    not_tried: list[NotTried] = field(default_factory=list)
    stopped: str = ""

    def run(self, settings: Iterable[EnvironmentSetting]) -> None:
        """Until all are tried, time is over, or an interrupt."""
        try:
            self._run(list(settings))
        except KeyboardInterrupt:
            self.stopped = EndedBy.INTERRUPT.of()

    def added_to(self, trials: AdviceTrials) -> AdviceTrials:
        """The trials, and these."""
        changes, not_tried = (*trials.changes, *self.changes), (*trials.not_tried, *self.not_tried)
        stopped = trials.stopped or self.stopped
        return replace(trials, changes=changes, not_tried=not_tried, stopped=stopped)

    def _run(self, left: list[EnvironmentSetting]) -> None:
        if self._time_is_over(left):
            return
        with TemporaryDirectory(prefix="keras_perf_") as name:
            folder = Path(name)
            try:
                HandedTraining.of(self.setup, folder)
            except Exception as error:  # noqa: BLE001  a user's model, and a disk that may be full
                why = str(error) if isinstance(error, ValueError) else error_line(error)
                self._leave_out_all(left, why)
                return
            try:
                with training_process(folder, {}, LIMIT_S) as present:
                    self._beside(present, left, folder)
            except FailedError as error:
                self._leave_out_all(left, str(error))

    def _beside(
        self, present: TrainingProcess, left: list[EnvironmentSetting], folder: Path
    ) -> None:
        """Raises FailedError where the process without any setting does not begin to train."""
        while left and not self._time_is_over(left):
            self.progress.tries(f"{left[0].variable}={left[0].value}", self.budget.left_s)
            present.begins()
            setting = left.pop(0)
            try:
                self._try(setting, folder, present, 1 + len(left))
            except FailedError as error:
                self._leave_out(setting, str(error))

    def _try(
        self, setting: EnvironmentSetting, folder: Path, present: TrainingProcess, left: int
    ) -> None:
        with training_process(folder, {setting.variable: setting.value}, LIMIT_S) as changed:
            changed.begins()
            seconds = Budget.for_a_pair(self.budget.left_s, left)
            pair = in_turn(
                present.step_ms, changed.step_ms, seconds=seconds, hopeless=CLEARLY_SLOWER
            )
        change = TrainingChange(
            setting.id, ENVIRONMENT, setting.code, lambda setup: setup, costs=setting.costs
        )
        self.changes.append(as_tried(change, pair, self.outside_ms))

    def _time_is_over(self, left: list[EnvironmentSetting]) -> bool:
        over = self.budget.left_s <= 0
        if over:
            self._leave_out_all(left, WhyNotTried.TIME_IS_OVER.of(budget_s=self.budget.seconds))
        return over

    def _leave_out_all(self, left: list[EnvironmentSetting], why: str) -> None:
        while left:
            self._leave_out(left.pop(0), why)

    def _leave_out(self, setting: EnvironmentSetting, why: str) -> None:
        self.not_tried.append(NotTried(id=setting.id, where=ENVIRONMENT, why=why))
