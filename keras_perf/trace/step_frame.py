"""From a trace to a row a step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from keras_perf.trace.cover import within_each
from keras_perf.trace.device import device_columns
from keras_perf.trace.file.xplane import XSpace
from keras_perf.trace.host import Host, read_host
from keras_perf.trace.steps import Steps, find_steps

PARTS = ("input_wait_ms", "execution_ms", "python_ms", "gap_ms")
"""They add up to a step."""


class NoStepsError(ValueError):
    """A trace in which nobody trains."""


def trace_frame(space: XSpace) -> pd.DataFrame:
    """A row a step of the thread that trains, in milliseconds.

    With several steps per execution a step ends where its execution fetches the next batch, so
    entering Python's side of an execution counts in its first step, leaving it and the gap in
    its last; sums over an execution are the execution's.

    Arguments:
        space: a trace, as `read_xspace` returns it.

    Returns:
        `step` (the marker's number, or counted from 0), `execution` (counted from 0),
        `begin_ms` since the trace began, `step_ms` to the begin of the next step, and its parts
        `input_wait_ms` (the iterator's GetNext), `execution_ms` (the runtime, less that wait),
        `python_ms` (the rest of the execution) and `gap_ms` (until the next execution). The last
        step has no gap: `gap_ms` and `step_ms` are NaN. `collective_ms` is there if collective
        operations are, and the columns of `device_columns` if GPUs are. If XLA compiled there are
        `compiled_ratio` (1 where it did in the step, else 0) and `compile_ms` (of `execution_ms`,
        until the last compilation had ended); if TensorFlow traced functions, `retraced_ratio` and
        `retracing_ms` (of `python_ms`). `attrs["steps_from"]` is `markers` or `functions`,
        `attrs["cpu_operations"]` as `Trace` has it.

    Raises:
        NoStepsError: (a ValueError) no thread marked a step or called a `tf.function`.

    Without step markers, executions of validation count like those of training: both are the
    same function to the trace. Where several replicas train without keras_perf's markers and
    with several steps per execution, each replica's fetch counts as a step.
    """
    host = read_host(space)
    steps = find_steps(host)
    if steps is None:
        raise NoStepsError(
            f"{str(space.path)!r} holds no step: no thread marked one or called a tf.function. "
            "Capture while training runs, with host_tracer_level of at least 2."
        )
    frame = _host_columns(host, steps)
    if space.gpu_planes:
        frame = frame.join(device_columns(space.gpu_planes, steps, host))
    elif len(host.collectives.begin):
        collective = host.collectives.cover.within(steps.begin, steps.next_begin)
        frame["collective_ms"] = collective / 1e9
    if len(host.compilations.begin):
        frame = frame.join(_compile_columns(host, steps))
    if len(steps.line.traced.begin):
        frame = frame.join(_retracing_columns(host, steps))
    frame.attrs["steps_from"] = steps.origin
    operations = host.cpu_operations(steps.line).during(steps.begin, steps.next_begin)
    longest = operations.longest_ms()
    frame.attrs["cpu_operations"] = {type_: ms / len(frame) for type_, ms in longest.items()}
    return frame


def complete_steps(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of executions after which there was another, whose every part is known.

    Of a trace of one execution that is all of it, less the gap.
    """
    last = frame["execution"].max()
    complete = frame[frame["execution"] < last]
    return complete if len(complete) else frame


def mean_parts(frame: pd.DataFrame) -> dict[str, float]:
    """Means over the complete steps: `step_ms`, its parts, and what is known of the device.

    The parts add up to the step. What is known of no step is left out.
    """
    means = complete_steps(frame).drop(columns=["step", "execution", "begin_ms"]).mean()
    return {str(name): float(value) for name, value in means.dropna().items()}


def _host_columns(host: Host, steps: Steps) -> pd.DataFrame:
    waits, executions = host.waits.cover, steps.line.executions.cover
    wait = waits.within(steps.begin, steps.end)
    execution = (waits | executions).within(steps.begin, steps.end) - wait
    gap = (steps.next_begin - steps.end).astype(float)
    gap[-1] = np.nan
    python = steps.end - steps.begin - wait - execution
    parts = dict(zip(PARTS, (wait, execution, python, gap), strict=True))
    return pd.DataFrame(
        {
            "step": steps.number,
            "execution": steps.execution,
            "begin_ms": steps.begin / 1e9,
            "step_ms": (steps.end - steps.begin + gap) / 1e9,
            **{name: ticks / 1e9 for name, ticks in parts.items()},
        }
    )


def _compile_columns(host: Host, steps: Steps) -> pd.DataFrame:
    """Of a step in which XLA compiles, what comes before belongs to it: it makes the HLO."""
    compilations = host.compilations
    step = within_each(steps.begin, steps.end, compilations.begin)
    ends = steps.begin.copy()
    np.maximum.at(ends, step[step >= 0], compilations.end[step >= 0])
    compiled, ends = ends > steps.begin, np.minimum(ends, steps.end)
    waits, executions = host.waits.cover, steps.line.executions.cover
    until = (waits | executions).within(steps.begin, ends) - waits.within(steps.begin, ends)
    return pd.DataFrame({"compiled_ratio": compiled.astype(float), "compile_ms": until / 1e9})


def _retracing_columns(host: Host, steps: Steps) -> pd.DataFrame:
    """Python's part of calls for which a function was traced: making its graph ready, too."""
    runs, traced = host.waits.cover | steps.line.executions.cover, steps.line.traced.cover
    alone = (runs | traced).within(steps.begin, steps.end) - runs.within(steps.begin, steps.end)
    return pd.DataFrame({"retraced_ratio": (alone > 0).astype(float), "retracing_ms": alone / 1e9})
