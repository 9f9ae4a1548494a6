"""Whether a trace and the always-on split tell the same, and why not where they do not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from keras_perf.analyse.summary import Summary
from keras_perf.records.run.trace_agreement import Agreement, Why
from keras_perf.trace.step_frame import complete_steps, mean_parts

_SHARE, _LEAST_MS = 0.1, 0.2
"""A difference counts above a tenth of the step and 0.2 ms."""

_ERRORS = 2.0
"""Below so many standard errors of the trace's mean, nothing can be said about its cause."""


def compare_with_split(frame: pd.DataFrame, summary: Summary) -> tuple[Agreement, ...]:
    """Part by part: `step`, `input wait`, `train function` and `between executions`.

    The split leaves profiled steps out, so the two are of different steps, and only those of the
    trace carry the profiler's cost. Nothing is compared that either has not measured.

    Arguments:
        frame: of a trace, as `trace_frame` returns it.
        summary: of the `fit` it is from.

    What it cannot see: whether the trace is from this `fit`.
    """
    # The split has both apart, as far as it can tell them; each shape takes its own time.
    apart = {"compile_ms": "execution_ms", "retracing_ms": "python_ms"}
    told = {of: frame[of] - frame[part] for part, of in apart.items() if part in frame}
    frame = frame.assign(**told)
    means = mean_parts(frame)
    split = summary.parts
    if "gap_ms" not in means or "compute" not in split:
        return ()
    errors = _standard_errors(frame)
    inside = split["compute"] + split.get("dispatch", 0.0)
    between = split.get("callbacks", 0.0) + split.get("other_host", 0.0)
    rows = {} if told else {"step": (["step_ms"], summary.step_ms)}
    function = ["execution_ms", "python_ms"]
    if "input_wait" in split:
        rows["input wait"] = (["input_wait_ms"], split["input_wait"])
    else:
        function.append("input_wait_ms")
    rows["train function"] = (function, inside)
    rows["between executions"] = (["gap_ms"], between)
    differences = {
        part: _Difference(sum(means[c] for c in columns), ours, errors[columns].sum(axis=1).std())
        for part, (columns, ours) in rows.items()
    }
    least = max(_SHARE * summary.step_ms, _LEAST_MS)
    return tuple(
        Agreement(
            part,
            d.trace_ms,
            d.split_ms,
            *_why(part, differences, least, summary.parts.get("compile", 0.0)),
            traced_steps=len(frame),
            split_steps=summary.steps,
        )
        for part, d in differences.items()
    )


class _Difference(NamedTuple):
    trace_ms: float
    split_ms: float
    standard_error: float

    @property
    def surplus(self) -> float:
        return self.trace_ms - self.split_ms


def _standard_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """A row an execution, scaled so that the deviation of its columns is the mean's error."""
    executions = complete_steps(frame).groupby("execution")
    scaled: pd.DataFrame = executions.mean() / np.sqrt(executions.ngroups)
    return scaled


def _why(
    part: str, differences: dict[str, _Difference], least: float, compiling_ms: float
) -> tuple[Why, float]:
    """The likely reason, and the figure that belongs to it."""
    more, error = differences[part].surplus, differences[part].standard_error
    if abs(more) <= least:
        return Why.AGREES, 0.0
    if np.isnan(error):
        # Of one execution.
        return Why.FEW, 0.0
    if abs(more) <= _ERRORS * error:
        return Why.UNEVEN, _ERRORS * error
    inside = differences["train function"].surplus
    between = differences["between executions"].surplus
    waits_for_device = between > least / 2 and inside < -least / 2
    if part in ("train function", "between executions") and waits_for_device:
        return Why.DEVICE, 0.0
    if part == "input wait" and more < 0 < inside:
        return Why.AHEAD, 0.0
    if part == "step" and more < 0 and compiling_ms > least:
        return Why.COMPILING, compiling_ms
    if part in ("step", "train function") and more > 0 and inside > 0:
        return Why.PROFILER, 0.0
    return Why.OTHER_STEPS, 0.0
