"""Sums what lies outside of the reported steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from keras_perf.observers.steps.outside.iterator_ends import IteratorEnds
from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.run.times.outside_steps import OutsideSteps


class Outside:
    """Time of a `fit` that is in no interval: between epochs, warm-up, windows and trials.

    Attributes:
        ends: is given each epoch gap first.
    """

    def __init__(self) -> None:
        self._gaps = 0
        self._validations: list[int] = []
        self._owners: dict[str, int] = {}
        self._rests: list[int] = []
        self._iterators: list[int] = []
        self._first_waits: list[int] = []
        self._begins: int | None = None
        self._newest: int | None = None
        self.ends = IteratorEnds()
        self._first = self._compiled = 0
        self._kinds = {Kind.WARMUP: 0, Kind.PROFILED: 0, Kind.TRIAL: 0}
        self._warmup_steps = 0

    def add(self, execution: Execution) -> None:
        """An execution that no interval counts."""
        self._first = self._first or execution.cycle_ns
        self._kinds[execution.kind] += execution.cycle_ns
        if execution.kind is Kind.WARMUP:
            self._warmup_steps += execution.steps

    def add_gap(self, gap: EpochGap) -> dict[str, float]:
        """An epoch gap; returns its parts as tag → milliseconds."""
        self._gaps += 1
        self._newest, self._begins = gap.step, gap.step if gap.renewed else None
        self._rests.append(gap.rest_ns)
        self._compiled += gap.compile_ns
        if gap.iterator_ns is not None:
            self._iterators.append(gap.iterator_ns)
        validation = callbacks = 0
        for owner, spent in gap.owners:
            self._owners[owner] = self._owners.get(owner, 0) + spent
            if owner == VALIDATION:
                self._validations.append(spent)
                validation += spent
            else:
                callbacks += spent
        return {
            "perf_between_epochs/validation_ms": validation / 1e6,
            "perf_between_epochs/callbacks_ms": callbacks / 1e6,
            "perf_between_epochs/rest_ms": gap.rest_ns / 1e6,
        }

    def add_waits(self, waits: Mapping[int, int]) -> None:
        """What executions that were told of since the newest gap waited for input.

        Arguments:
            waits: first step → nanoseconds, where it is known.
        """
        if self._begins is not None and (first := waits.get(self._begins)) is not None:
            self._first_waits.append(first)
            self._begins = None

    def facts(self) -> OutsideSteps:
        """The sums."""
        owners = {name: ns / 1e9 for name, ns in self._owners.items() if name != VALIDATION}
        usual_ns = median(self._validations[1:] or self._validations or [0])
        return OutsideSteps(
            epoch_gaps=self._gaps,
            newest_gap_step=self._newest,
            validations=len(self._validations),
            usual_validation_s=usual_ns / 1e9,
            validation_s=self._owners.get(VALIDATION, 0) / 1e9,
            epoch_callbacks_s=owners,
            epoch_rest_s=sum(self._rests) / 1e9,
            usual_epoch_rest_s=_usual_s(self._rests),
            usual_iterator_s=_usual_s(self._iterators),
            usual_first_wait_s=_usual_s(self._first_waits),
            usual_iterator_end_s=_usual_s(self.ends.epochs_ns),
            usual_validation_end_s=_usual_s(self.ends.validations_ns),
            late_validation_ends=self.ends.late,
            epoch_compiling_s=self._compiled / 1e9,
            first_execution_s=self._first / 1e9,
            warmup_steps=self._warmup_steps,
            warmup_s=self._kinds[Kind.WARMUP] / 1e9,
            profiled_s=self._kinds[Kind.PROFILED] / 1e9,
            trial_s=self._kinds[Kind.TRIAL] / 1e9,
        )


def _usual_s(times_ns: Sequence[int]) -> float | None:
    """The mean without the longest: many are longer than the median, and one may come once."""
    if not times_ns:
        return None
    return fmean(sorted(times_ns)[:-1] or times_ns) / 1e9
