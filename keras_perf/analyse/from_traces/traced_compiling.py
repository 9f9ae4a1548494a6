"""Compiling that the split takes for computing, because nearly every step compiles."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

MOSTLY = 0.5
"""Below this share of steps that compile, the split tells them from the others by their length."""


@dataclass(frozen=True)
class TracedCompiling:
    """What a trace shows of XLA's compiling and of TensorFlow's tracing.

    `share` of its steps compiled or traced; a step spent `compile_ms` on both. `computing_ms` is
    the rest of what a step does inside the train function, of the trace in which that is longest.
    XLA's is more of it if `by_xla`.
    """

    share: float
    compile_ms: float
    computing_ms: float
    by_xla: bool = True


def traced_compiling(wide: pd.DataFrame, *, wait_is_apart: bool) -> TracedCompiling | None:
    """The trace in which most steps compiled; None where that is less than `MOSTLY`.

    What another trace shows of computing, of longer batches say, is not compiling either.

    Arguments:
        wide: a run's scalars, a column a tag; the figures of one trace stand in one row.
        wait_is_apart: the input wait was measured, and is no part of the split's compute.
    """
    always = [f"trace/{part}_ms" for part in ("execution", "python", "input_wait")]
    at_times = [f"trace/{tag}" for tag in ("compiled_ratio", "retraced_ratio")]
    at_times += ["trace/compile_ms", "trace/retracing_ms"]
    if not set(always) <= set(wide.columns):
        return None
    traces = wide.dropna(subset=always).reindex(columns=always + at_times).fillna(0.0)
    execution, python, wait, compiled, retraced, compile_ms, retracing_ms = (
        traces[column] for column in always + at_times
    )
    share, both_ms = compiled.where(compiled > retraced, retraced), compile_ms + retracing_ms
    if not len(traces) or share.max() < MOSTLY:
        return None
    inside = execution + python + (0.0 if wait_is_apart else wait)
    most = int(share.argmax())
    return TracedCompiling(
        float(share.iloc[most]),
        float(both_ms.iloc[most]),
        float((inside - both_ms).max()),
        by_xla=bool(2 * compile_ms.iloc[most] >= both_ms.iloc[most]),
    )


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
