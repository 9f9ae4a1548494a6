"""Times of ordinary executions and, between them, of longer ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from statistics import median

from keras_perf.observers.steps_trial.cost_curve import CostCurve, fit_curve
from keras_perf.records.execution import Execution, Kind

RUN_UP = 1
"""Executions of the other length right before each measured one: after another function caches
are cold, and the first also compiles."""

REMEMBERED = 40
"""So many ordinary executions, the newest, stand for the present length."""

SURE = 0.75
"""Share of the longer executions whose steps are cheaper, where that is no chance."""

MANY = 8
"""Of fewer longer executions all must be cheaper: four of five are so by chance now and then."""

NEAREST = 4
"""So many ordinary executions before a longer one, and after it, saw the machine as it did."""


@dataclass(frozen=True, slots=True)
class _Longer:
    """A longer execution, and the ordinary ones around it; milliseconds."""

    steps: int
    ms: float
    measured: bool
    """Not a run-up."""
    before_ms: tuple[float, ...]
    after_ms: list[float] = field(default_factory=list)

    def cheaper(self, host_ms: float, present: int) -> bool:
        """A step of it is, than one of three quarters of those around it."""
        around_ms = sorted((*self.before_ms, *self.after_ms))
        least_ms = around_ms[len(around_ms) // 4] if around_ms else 0.0
        return (self.ms + host_ms) / self.steps < (least_ms + host_ms) / present


class TrialTimes:
    """Collects executions until a cost curve can be fitted to them.

    Attributes:
        first_ns: the fit's first execution, with its tracing and compiling.
        trial_ns: time spent in longer executions.
        executions: number of longer executions.
    """

    def __init__(self) -> None:
        self.first_ns = self.trial_ns = self.executions = 0
        self._ordinary_ms: deque[float] = deque(maxlen=REMEMBERED)
        self._host_ms: deque[float] = deque(maxlen=REMEMBERED)
        self._longer: dict[int, list[_Longer]] = {}
        self._newest: _Longer | None = None
        self._run_ups = 0

    def add(self, executions: Iterable[Execution]) -> None:
        """Adds executions in their order."""
        for execution in executions:
            inside_ns = execution.inside_ns
            self.first_ns = self.first_ns or inside_ns
            if execution.kind is Kind.TRIAL:
                self.executions += 1
                self.trial_ns += inside_ns
                self._add_longer(execution.steps, inside_ns / 1e6)
                continue
            self._run_ups = 0
            if execution.kind is Kind.STEADY:
                self._ordinary_ms.append(inside_ns / 1e6)
                self._host_ms.append(execution.host_ns / 1e6)
                if self._newest is not None and len(self._newest.after_ms) < NEAREST:
                    self._newest.after_ms.append(inside_ns / 1e6)

    def _add_longer(self, steps: int, ms: float) -> None:
        """One that follows no other of its length is a run-up: that before it may have raised."""
        if self._newest is not None and self._newest.steps != steps:
            self._run_ups = 0
        measured = self._run_ups == RUN_UP
        self._run_ups = 0 if measured else self._run_ups + 1
        before_ms = tuple(islice(reversed(self._ordinary_ms), NEAREST))
        self._newest = _Longer(steps, ms, measured, before_ms)
        self._longer.setdefault(steps, []).append(self._newest)

    @property
    def measured(self) -> bool:
        """Some longer executions are more than run-ups, and more than one of their length."""
        return bool(self._measured())

    @property
    def lengths(self) -> tuple[int, ...]:
        """Steps of the longer executions, in the order in which they were tried first."""
        return tuple(self._longer)

    @property
    def trial_steps(self) -> int:
        """Steps of all longer executions."""
        return sum(n * len(found) for n, found in self._longer.items())

    @property
    def newest_longer(self) -> tuple[int, float]:
        """Steps of the newest longer execution, and its milliseconds inside the train function."""
        return (self._newest.steps, self._newest.ms) if self._newest else (1, 0.0)

    @property
    def ordinary_ms(self) -> float | None:
        """An ordinary execution inside the train function; None before there was one.

        The lower quartile: what else runs on the machine makes others longer.
        """
        found = sorted(self._ordinary_ms)
        return found[len(found) // 4] if found else None

    @property
    def settled(self) -> bool:
        """More ordinary executions would tell nothing new of their time."""
        return len(self._ordinary_ms) == REMEMBERED

    @property
    def host_ms(self) -> float:
        """The host's part after each execution."""
        return median(self._host_ms) if self._host_ms else 0.0

    def samples(self, present: int) -> dict[int, list[float]]:
        """Measured times by length, without the run-ups.

        Arguments:
            present: steps of an ordinary execution.
        """
        measured = {n: [each.ms for each in found] for n, found in self._measured().items()}
        return {present: list(self._ordinary_ms), **measured}

    def _measured(self) -> dict[int, list[_Longer]]:
        """Without the run-ups, and lengths with one time only: it says nothing of its noise."""
        found = {n: [each for each in of_n if each.measured] for n, of_n in self._longer.items()}
        return {n: each for n, each in found.items() if len(each) > 1}

    def surely_cheaper(self, present: int) -> bool:
        """Steps of the longest executions are cheaper than those of ordinary ones.

        Three quarters of the one, or all of a few, lie each below three quarters of the other
        around it: what else runs on the machine may do so for a while. Those of half the longest
        length count too: what an execution costs is next to nothing for a step of either.
        """
        measured = self._measured()
        long = [each for n, found in measured.items() if n >= max(measured) / 2 for each in found]
        host_ms = self.host_ms
        sure = SURE if len(long) >= MANY else 1.0
        return sum(each.cheaper(host_ms, present) for each in long) >= sure * len(long)

    def curve(self, present: int) -> CostCurve:
        """The curve that fits the samples."""
        return fit_curve(self.samples(present), self.host_ms, present)
