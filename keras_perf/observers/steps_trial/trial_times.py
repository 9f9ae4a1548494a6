"""Times of ordinary executions and, between them, of longer ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from statistics import median

from keras_perf.observers.steps_trial.cost_curve import CostCurve, fit_curve
from keras_perf.records.execution import Execution, Kind

RUN_UP = 1
"""Executions of the other length right before each measured one: after another function caches
are cold, and the first also compiles."""

REMEMBERED = 40
"""So many ordinary executions, the newest, stand for the present length."""


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
        self._longer_ms: dict[int, list[float]] = {}
        self._newest_longer = 1, 0.0

    def add(self, executions: Iterable[Execution]) -> None:
        """Adds executions in their order."""
        for execution in executions:
            inside_ns = execution.inside_ns
            self.first_ns = self.first_ns or inside_ns
            if execution.kind is Kind.TRIAL:
                self.executions += 1
                self.trial_ns += inside_ns
                self._longer_ms.setdefault(execution.steps, []).append(inside_ns / 1e6)
                self._newest_longer = execution.steps, inside_ns / 1e6
            elif execution.kind is Kind.STEADY:
                self._ordinary_ms.append(inside_ns / 1e6)
                self._host_ms.append(execution.host_ns / 1e6)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Steps of the longer executions, in the order in which they were tried first."""
        return tuple(self._longer_ms)

    @property
    def trial_steps(self) -> int:
        """Steps of all longer executions."""
        return sum(n * len(found) for n, found in self._longer_ms.items())

    @property
    def newest_longer(self) -> tuple[int, float]:
        """Steps of the newest longer execution, and its milliseconds inside the train function."""
        return self._newest_longer

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

        A length that was measured only once is left out: one time says nothing of its noise.
        """
        longer = {n: found[RUN_UP :: 1 + RUN_UP] for n, found in self._longer_ms.items()}
        measured = {n: found for n, found in longer.items() if len(found) > 1}
        return {present: list(self._ordinary_ms), **measured}

    def surely_cheaper(self, present: int) -> bool:
        """Steps of the longest executions are cheaper than those of ordinary ones.

        Three quarters of the one lie below three quarters of the other. Those of half the longest
        length count too: what an execution costs is next to nothing for a step of either.
        """
        samples = self.samples(present)
        ordinary = sorted(samples.pop(present))
        long = [n for n in samples if n >= max(samples) / 2]
        steps_ms = sorted((ms + self.host_ms) / n for n in long for ms in samples[n])
        least = (ordinary[len(ordinary) // 4] + self.host_ms) / present
        return steps_ms[-1 - len(steps_ms) // 4] < least

    def curve(self, present: int) -> CostCurve:
        """The curve that fits the samples."""
        return fit_curve(self.samples(present), self.host_ms, present)
