"""Finds executions and pauses far longer than usual, and what made them so."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from keras_perf.records.epoch_gap import VALIDATION, EpochGap
from keras_perf.records.execution import Execution, Kind
from keras_perf.records.owners import COLLECTOR
from keras_perf.records.run.times.outlier import Cause, Outlier, Outliers, OutlierTotal

WINDOW = 128
"""So many executions, the newest, tell what is usual."""

PATIENCE = 16
"""With fewer nothing is judged yet."""

FAR = 8.0
"""Standard deviations from the median; one is 1.4826 MAD (Rousseeuw and Croux, 1993)."""

SIGMAS_PER_MAD = 1.4826

NOTICEABLE = 0.5
"""What exceeds the usual by less than this share of an execution's cycle is no event."""

MOST = 0.5
"""A cause must account for this share of what is too long."""

KEPT = 50
"""Events that a run's record names one by one."""

REMEMBERED = 1000
"""Executions that may wait until enough is known to judge them."""

WRITES_CHECKPOINTS = ("ModelCheckpoint", "BackupAndRestore")


class _Usual:
    """Median and spread of the newest values."""

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=WINDOW)

    def learn(self, values: Iterable[float]) -> None:
        self._values.extend(values)

    def __len__(self) -> int:
        return len(self._values)

    def middle_and_spread(self) -> tuple[float, float]:
        """What is usual, and how far from it is far."""
        middle = median(self._values)
        mad = median([abs(value - middle) for value in self._values])
        return middle, FAR * SIGMAS_PER_MAD * mad


class _Suspect(NamedTuple):
    """An execution that may be far longer than usual."""

    execution: Execution
    wait_ns: int | None
    begins_epoch: bool


class _Limits(NamedTuple):
    """What is usual inside the train function and on the host, and where far begins."""

    inside_ns: float
    inside_limit_ns: float
    host_ns: float
    host_limit_ns: float


class OutlierJudge:
    """Judges executions against their own recent past, by median and MAD.

    Told of executions in their order, of each stretch's end with the input waits found there,
    and of epoch gaps. A single long execution does not move what is usual.
    """

    def __init__(self) -> None:
        self._inside: dict[int, _Usual] = {}
        self._host = _Usual()
        self._told: list[tuple[Execution, bool]] = []
        self._waiting: deque[tuple[Execution, bool, int | None]] = deque(maxlen=REMEMBERED)
        self._cycle_ns = 0.0
        self._events: list[Outlier] = []
        self._epoch_begin: int | None = None

    def add(self, executions: Iterable[Execution]) -> None:
        """Steady, traced and recompiled executions, in their order."""
        self._told += [(e, e.first_step == self._epoch_begin) for e in executions]

    def close_stretch(self, waits: Mapping[int, int], shuffles: bool) -> None:
        """Judges the executions told of since the last time.

        Arguments:
            waits: first step → input wait in nanoseconds, where it is known.
            shuffles: the input pipeline holds a shuffle buffer.
        """
        self._learn([e for e, _ in self._told if e.kind is Kind.STEADY])
        if len(self._host) < PATIENCE:
            self._waiting.extend((e, b, waits.get(e.first_step)) for e, b in self._told)
        else:
            limits = {n: self._limits(n) for n in {e.steps for e, _ in self._told}}
            for execution, begins_epoch, wait_ns in self._waiting:
                suspect = _Suspect(execution, wait_ns, begins_epoch)
                self._judge(suspect, self._limits(execution.steps), shuffles)
            self._waiting.clear()
            # Every execution comes by here: the times are taken off, no property is asked.
            far = [
                (e, begins_epoch)
                for e, begins_epoch in self._told
                if e.ready_ns - e.begin_ns > limits[e.steps].inside_limit_ns
                or e.end_ns - e.ready_ns > limits[e.steps].host_limit_ns
            ]
            for execution, begins_epoch in far:
                suspect = _Suspect(execution, waits.get(execution.first_step), begins_epoch)
                self._judge(suspect, limits[execution.steps], shuffles)
        self._told = []

    def _learn(self, steady: list[Execution]) -> None:
        """What these took is usual; inside the train function, of as many steps."""
        for steps in {e.steps for e in steady}:
            usual = self._inside.setdefault(steps, _Usual())
            usual.learn([e.ready_ns - e.begin_ns for e in steady if e.steps == steps])
        self._host.learn([e.end_ns - e.ready_ns for e in steady])

    def _limits(self, steps: int) -> _Limits:
        """What is usual for executions of so many steps, and from where on one is long.

        Only beside executions of its own length can one be called long inside.
        """
        host_ns, host_far_ns = self._host.middle_and_spread()
        inside_ns = inside_far_ns = math.inf
        usual = self._inside.get(steps)
        cycle_ns = self._cycle_ns
        if usual is not None and len(usual) >= PATIENCE:
            inside_ns, inside_far_ns = usual.middle_and_spread()
            cycle_ns = self._cycle_ns = inside_ns + host_ns
        least_ns = NOTICEABLE * cycle_ns
        return _Limits(
            inside_ns,
            inside_ns + max(inside_far_ns, least_ns),
            host_ns,
            host_ns + max(host_far_ns, least_ns),
        )

    def _judge(self, suspect: _Suspect, limits: _Limits, shuffles: bool) -> None:
        execution = suspect.execution
        if execution.inside_ns > limits.inside_limit_ns:
            excess_ns = execution.inside_ns - limits.inside_ns
            cause = _cause_inside(suspect, excess_ns, shuffles)
            self._found(execution.first_step, cause, "", excess_ns, limits.inside_ns)
        if execution.host_ns > limits.host_limit_ns:
            excess_ns = execution.host_ns - limits.host_ns
            cause, owner = _cause_on_host(execution, excess_ns)
            self._found(execution.first_step, cause, owner, excess_ns, limits.host_ns)

    def add_gap(self, gap: EpochGap) -> None:
        """An epoch gap: each of its parts that is long against a step is an event."""
        self._epoch_begin = gap.step if gap.renewed else None
        limit_ns = NOTICEABLE * self._cycle_ns
        parts = [(_cause_of(owner), owner, spent) for owner, spent in gap.owners]
        if gap.followed:
            parts.append((_cause_of_rest(gap), "", gap.rest_ns))
        for cause, owner, spent in parts:
            if limit_ns and spent > limit_ns:
                self._found(gap.step, cause, "" if owner == VALIDATION else owner, spent, 0.0)

    def _found(self, step: int, cause: Cause, owner: str, excess: float, usual: float) -> None:
        self._events.append(Outlier(step, cause, owner, excess / 1e6, usual / 1e6))

    def take(self) -> list[Outlier]:
        """The events found since the last time."""
        events, self._events = self._events, []
        return events


def _cause_of_rest(gap: EpochGap) -> Cause:
    if gap.compile_ns > MOST * gap.rest_ns:
        return Cause.RECOMPILE
    return Cause.ITERATOR if gap.renewed else Cause.UNKNOWN


def _cause_inside(suspect: _Suspect, excess_ns: float, shuffles: bool) -> Cause:
    execution = suspect.execution
    if execution.kind is Kind.TRACED:
        return Cause.RETRACE
    if suspect.wait_ns is not None and suspect.wait_ns > MOST * excess_ns:
        if not suspect.begins_epoch:
            return Cause.INPUT
        return Cause.SHUFFLE if shuffles else Cause.ITERATOR
    if execution.kind is Kind.RECOMPILED and execution.compile_ns != 0:
        return Cause.RECOMPILE
    if _collected_outside_hooks(execution) > MOST * excess_ns:
        return Cause.GARBAGE
    return Cause.UNKNOWN


def _collected_outside_hooks(execution: Execution) -> int:
    return execution.collector_ns - sum(ns for o, ns in execution.owners if o == COLLECTOR)


def _cause_on_host(execution: Execution, excess_ns: float) -> tuple[Cause, str]:
    owner, spent = max(execution.owners, key=lambda item: item[1], default=("", 0))
    if spent > MOST * excess_ns:
        return (Cause.GARBAGE, "") if owner == COLLECTOR else (_cause_of(owner), owner)
    if _collected_outside_hooks(execution) > MOST * excess_ns:
        return Cause.GARBAGE, ""
    return Cause.UNKNOWN, ""


def _cause_of(owner: str) -> Cause:
    if owner == VALIDATION:
        return Cause.VALIDATION
    name, _, _ = owner.partition(".")
    writes = name in WRITES_CHECKPOINTS or "checkpoint" in name.lower()
    return Cause.CHECKPOINT if writes else Cause.CALLBACK


class OutlierLog:
    """The worst events, and sums by cause and owner over all of them."""

    def __init__(self) -> None:
        self._worst: list[Outlier] = []
        self._totals: dict[tuple[str, str], tuple[int, float]] = {}

    def add(self, event: Outlier) -> None:
        """One more."""
        self._worst.append(event)
        if len(self._worst) > 2 * KEPT:
            self._worst = self.worst()
        key = event.cause.value, event.owner
        count, total = self._totals.get(key, (0, 0.0))
        self._totals[key] = count + 1, total + event.excess_ms

    def worst(self) -> list[Outlier]:
        """The longest `KEPT`, longest first."""
        return sorted(self._worst, key=lambda event: -event.excess_ms)[:KEPT]

    def facts(self) -> Outliers:
        """The worst, and the sums."""
        ordered = sorted(self._totals.items(), key=lambda item: -item[1][1])
        totals = (OutlierTotal(*key, *sums) for key, sums in ordered)
        return Outliers(tuple(self.worst()), tuple(totals))
