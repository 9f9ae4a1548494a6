"""What one run measured, in one record."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from keras_perf.analyse.from_traces.traced_compiling import (
    TracedCompiling,
    traced_compiling,
    with_compiling_apart,
)
from keras_perf.analyse.from_traces.traced_exchange import traced_exchange
from keras_perf.analyse.growth import Growth, growth_of
from keras_perf.analyse.of_intervals.epoch_begins import counted_as_they_come, steps_after_warmup
from keras_perf.analyse.of_intervals.part_means import part_means
from keras_perf.analyse.of_intervals.sensors import mean_sensors, points_by_tag, usual_sensors
from keras_perf.analyse.worker import Worker
from keras_perf.records.interval import PARTS
from keras_perf.records.metrics.all_metrics import STEP_MS, STEPS
from keras_perf.records.metrics.host_metrics import PROCESS_MEMORY
from keras_perf.records.run.inference import VALIDATION
from keras_perf.records.run.library import is_tuned
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.times.exchange import EXCHANGE_PARTS
from keras_perf.records.run.times.outlier import Cause
from keras_perf.records.text.visible import visible

_OWNERS = ("perf_callbacks/", "callbacks/")
"""What the tags of callbacks' hooks begin with; the latter up to version 0.1."""

ENOUGH_STEPS = 20
"""Fewer reported steps than this say too little."""


@dataclass(frozen=True)
class Summary:
    """Means over all reported steps of one run; times in milliseconds per step.

    `parts` lacks what was not measured: `input_wait` and `dispatch` are then inside `compute`.
    `intervals` has a row an interval, with `steps`, `step` and the parts as columns, and where
    gradients were exchanged `communication`, `peer_wait`, `skew` and `slowest_worker`; what comes
    once an epoch counts there as `counted_as_they_come` says.
    `trace` has the means of what traces showed, by names as `execution_ms`; empty without one.
    `compiling` is what a trace told of steps that nearly all compile: there `compile` is what it
    leaves of what the split takes for `compute`.
    `growth` has what keeps growing of the process's memory and of what is allocated on GPUs, by
    tag; `usual` has `usual_sensors`. `garbage_ms` lies inside the parts; `exchange` has the means
    of the first three of these, of which the first lies inside compute and holds the second; of
    GPUs they are a trace's. `workers` are all that trained, if there were several, and this is the
    summary of the first of them.
    """

    steps: int
    step_ms: float
    parts: Mapping[str, float]
    owners: Mapping[str, float]
    sensors: Mapping[str, float]
    facts: RunFacts
    intervals: pd.DataFrame = field(repr=False, compare=False)
    garbage_ms: float = 0.0
    exchange: Mapping[str, float] = field(default_factory=dict)
    workers: tuple[Worker, ...] = ()
    trace: Mapping[str, float] = field(default_factory=dict)
    compiling: TracedCompiling | None = None
    growth: Mapping[str, Growth] = field(default_factory=dict)
    usual: Mapping[str, float] = field(default_factory=dict)

    @property
    def breakdown(self) -> dict[str, float]:
        """All parts, NaN where one was not measured, and the step that the others add up to."""
        step_ms = sum(self.parts[part] for part in PARTS if part in self.parts)
        return {part: self.parts.get(part, math.nan) for part in PARTS} | {"step": step_ms}

    @property
    def after_warmup(self) -> int:
        """Steps that the training had then, with those of trials and captures."""
        return steps_after_warmup(self.facts, self.intervals)

    @property
    def outside(self) -> Mapping[str, float]:
        """What lies between epochs, in milliseconds for each step of the `fit`."""
        recorded, steps = self.facts.outside, self.facts.steps_before_gaps
        if recorded is None or not steps:
            return {}
        validation = self.facts.inference.get(VALIDATION)
        tuned = validation is not None and is_tuned(self.facts, validation)
        return recorded.per_step_ms(steps, self.facts.length.steps, validation_tuned=tuned)

    @property
    def whole_ms(self) -> float:
        """A step with its share of what lies between epochs."""
        return self.step_ms + sum(self.outside.values())

    @property
    def wire_ms(self) -> float:
        """The exchange of gradients where nobody is waited for; 0 where it is not known."""
        return self.exchange.get("communication", 0.0) - self.exchange.get("peer_wait", 0.0)

    def of_gpus(self, name: str) -> dict[int, float]:
        """Mean of a sensor by the number of each GPU where it was sampled, in their order."""
        tags = {tag: re.fullmatch(rf"gpu/(\d+)/{name}", tag) for tag in self.sensors}
        return dict(sorted((int(m[1]), self.sensors[tag]) for tag, m in tags.items() if m))

    def as_worker(self, number: int, beside_cpu_pct: float = 0.0) -> Worker:
        """What a row of the table of workers shows."""
        wait, communication = self.parts.get("input_wait"), self.exchange.get("communication")
        compute = self.parts.get("compute", 0.0) - (communication or 0.0)
        host = self.step_ms - (wait or 0.0) - compute - (communication or 0.0)
        parts = wait, compute, communication, host
        return Worker(number, self.steps, self.step_ms, *parts, beside_cpu_pct)

    @property
    def examples_per_step(self) -> float | None:
        """Mean batch size, where it is known."""
        return self.facts.length.examples_per_step


def summarize(scalars: pd.DataFrame, facts: RunFacts) -> Summary:
    """The summary of one `fit`.

    Arguments:
        scalars: its scalars, as `load_scalars` returns them.
        facts: what is known of it beside them.
    """
    wide = _by_step(scalars)
    measured = wide.dropna(subset=[STEPS, STEP_MS])
    intervals = counted_as_they_come(_intervals(measured), facts, wide.get(Cause.SHUFFLE.tag))
    compiling = traced_compiling(wide, wait_is_apart="input_wait" in intervals)
    if compiling is not None:
        intervals = with_compiling_apart(intervals, compiling)
    parts = mean_parts(intervals)
    owners = {
        visible(tag.partition("/")[2].removesuffix("_ms")): _weighted(
            measured[tag].fillna(0.0), intervals["steps"]
        )
        for tag in measured.columns
        if tag.startswith(_OWNERS)
    }
    by_tag = points_by_tag(scalars, facts)
    trace = {
        tag.removeprefix("trace/"): float(points["value"].mean())
        for tag, points in by_tag.items()
        if tag.startswith("trace/")
    }
    return Summary(
        steps=int(intervals["steps"].sum()) if len(intervals) else 0,
        step_ms=mean_step_ms(intervals),
        parts=parts,
        owners=owners,
        sensors=mean_sensors(by_tag),
        usual=usual_sensors(by_tag),
        facts=facts,
        intervals=intervals,
        garbage_ms=_mean(measured, "perf/garbage_collection_ms"),
        exchange=_mean_exchange(intervals, parts) or traced_exchange(trace, parts),
        trace=trace,
        compiling=compiling,
        growth={
            tag: found
            for tag, points in by_tag.items()
            if tag == PROCESS_MEMORY or tag.endswith("/allocated_mib")
            if (found := growth_of(points, facts.length)) is not None
        },
    )


def _by_step(scalars: pd.DataFrame) -> pd.DataFrame:
    """A row a step and a column a tag, each with what was logged last; what was not is NaN."""
    tags = pd.Categorical(scalars["tag"])
    row, steps = pd.factorize(scalars["step"], sort=True)
    values = np.full((len(tags.categories), len(steps)), np.nan)
    # Of several values at one place the last one stays.
    values[tags.codes, row] = scalars["value"]
    columns = {str(tag): values[place] for place, tag in enumerate(tags.categories)}
    seen = {tag: column for tag, column in columns.items() if np.isfinite(column).any()}
    wide = pd.DataFrame(seen, index=pd.Index(steps, name="step"))
    return wide.reindex(columns=sorted({*wide.columns, STEPS, STEP_MS}))


def _intervals(measured: pd.DataFrame) -> pd.DataFrame:
    """As in `Summary.intervals`; where compute is missing, it is what the other parts leave."""
    intervals = pd.DataFrame({"steps": measured[STEPS], "step": measured[STEP_MS]})
    for part in PARTS:
        if f"perf/{part}_ms" in measured:
            intervals[part] = measured[f"perf/{part}_ms"]
        elif part == "compute":
            intervals[part] = float("nan")
    others = intervals[[part for part in PARTS if part in intervals and part != "compute"]]
    left = (intervals["step"] - others.sum(axis=1)).clip(lower=0.0)
    intervals["compute"] = intervals["compute"].fillna(left)
    tags = {f"perf/{name}_ms": name for name in EXCHANGE_PARTS}
    tags["perf/slowest_worker"] = "slowest_worker"
    if tags.keys() <= set(measured.columns):
        # Of an exchange that is known in part nothing can be said.
        whole = measured[list(tags)].notna().all(axis=1)
        for tag, name in tags.items():
            intervals[name] = measured[tag].where(whole)
    return intervals


def _mean_exchange(intervals: pd.DataFrame, parts: Mapping[str, float]) -> dict[str, float]:
    """Means over the intervals in which the exchange was measured; inside compute."""
    if not all(name in intervals for name in EXCHANGE_PARTS):
        return {}
    known = intervals.dropna(subset=list(EXCHANGE_PARTS))
    if not len(known):
        return {}
    means = {name: _weighted(known[name], known["steps"]) for name in EXCHANGE_PARTS}
    means["communication"] = min(means["communication"], parts["compute"])
    means["peer_wait"] = min(means["peer_wait"], means["communication"])
    return means


def _mean(measured: pd.DataFrame, tag: str) -> float:
    """Per step; 0 where it was never logged."""
    if tag not in measured or not len(measured):
        return 0.0
    return _weighted(measured[tag].fillna(0.0), measured[STEPS])


def mean_step_ms(intervals: pd.DataFrame) -> float:
    """Over all steps."""
    return _weighted(intervals["step"], intervals["steps"])


def mean_parts(intervals: pd.DataFrame) -> dict[str, float]:
    """Weighted means that add up to the step."""
    if not len(intervals):
        return {}
    means = part_means(intervals, np.ones((1, len(intervals))))
    return {part: float(means[part][0]) for part in PARTS if part in means}


def _weighted(values: pd.Series, weights: pd.Series) -> float:
    if not len(values):
        return float("nan")
    return float(np.average(values.to_numpy(dtype=float), weights=weights.to_numpy(dtype=float)))
