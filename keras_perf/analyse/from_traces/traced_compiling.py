"""Compiling that the split takes for computing, because nearly every step compiles."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

MOSTLY = 0.5
"""Below this share of steps that compile, the split tells them from the others by their length."""


@dataclass(frozen=True)
class TracedCompiling:
    """What a trace shows of XLA's compiling.

    `share` of its steps compiled; a step spent `compile_ms` on that. `computing_ms` is the rest of
    what a step does inside the train function, of the trace in which that is longest.
    """

    share: float
    compile_ms: float
    computing_ms: float


def traced_compiling(wide: pd.DataFrame, *, wait_is_apart: bool) -> TracedCompiling | None:
    """The trace in which most steps compiled; None where that is less than `MOSTLY`.

    What another trace shows of computing, of longer batches say, is not compiling either.

    Arguments:
        wide: a run's scalars, a column a tag; the figures of one trace stand in one row.
        wait_is_apart: the input wait was measured, and is no part of the split's compute.
    """
    tags = ["compiled_ratio", "compile_ms", "execution_ms", "python_ms", "input_wait_ms"]
    columns = [f"trace/{tag}" for tag in tags]
    if not set(columns) <= set(wide.columns):
        return None
    # Of a trace without compilations the first two are missing.
    traces = wide[columns].dropna(subset=columns[2:]).fillna(0.0)
    share, compiling, execution, python, wait = (traces[column] for column in columns)
    inside = execution + python + (0.0 if wait_is_apart else wait)
    if not len(traces) or share.max() < MOSTLY:
        return None
    computing_ms = float((inside - compiling).max())
    most = int(share.argmax())
    return TracedCompiling(float(share.iloc[most]), float(compiling.iloc[most]), computing_ms)


def with_compiling_apart(intervals: pd.DataFrame, found: TracedCompiling) -> pd.DataFrame:
    """Intervals in which compiling is what steps compute for beyond the traces' computing.

    Arguments:
        intervals: as in `Summary.intervals`.
        found: what traces of the same run showed.
    """
    inside = intervals["compute"]
    if "dispatch" in intervals:
        inside = inside + intervals["dispatch"].fillna(0.0)
    beyond = (inside - found.computing_ms).clip(lower=0.0).clip(upper=intervals["compute"])
    known = intervals["compile"].fillna(0.0) if "compile" in intervals else 0.0
    return intervals.assign(compute=intervals["compute"] - beyond, compile=known + beyond)
