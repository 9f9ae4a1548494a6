"""Reads a trace: `read_trace`."""

from __future__ import annotations

import os

import pandas as pd

from keras_perf.trace.file.xplane import find_traces, host_of, read_xspace
from keras_perf.trace.several_hosts import join_hosts
from keras_perf.trace.step_frame import NoStepsError, mean_parts, trace_frame
from keras_perf.trace.trace import Trace


def read_trace(path_or_log_dir: str | os.PathLike[str]) -> Trace:
    """Reads a profiler trace into one row per step, whoever captured it.

    Nothing is written beside it, and neither TensorFlow nor Keras is imported.

    Returns:
        A `Trace`: `print` it; `means` (milliseconds per step), `to_frame()` (a row a step),
        `to_markdown()`, and what xprof makes of it when asked: `operations()`, `kernels()`,
        `memory()` and `xprof_verdict()`.

    Arguments:
        path_or_log_dir: an `.xplane.pb` file, or a directory below which the newest is taken.

    Raises:
        NoTraceError: (a FileNotFoundError) there is none.
        ValueError: the file is empty, cut off, no trace, or holds no step.

    Of a directory with several hosts' files all are read; give a file for that host alone.

    What it cannot see: without step markers, which executions were validation.

    >>> import keras_perf as kp
    >>> trace = kp.read_trace("logs/run1")  # doctest: +SKIP
    >>> trace.means["input_wait_ms"]  # doctest: +SKIP
    """
    paths = find_traces(path_or_log_dir)
    frames: dict[str, pd.DataFrame] = {}
    errors: list[str] = []
    for path in paths:
        space = read_xspace(path)
        errors += space.errors
        try:
            frames[host_of(path)] = trace_frame(space)
        except NoStepsError:
            # Of several hosts some may only hand out work.
            if path is paths[-1] and not frames:
                raise
        except ValueError as error:
            raise ValueError(f"{str(path)!r}: {error}. Capture or copy it again.") from error
    frame = join_hosts(frames)
    means = pd.DataFrame([mean_parts(each) for each in frames.values()]).mean()
    return Trace(
        paths,
        tuple(frames),
        len(frame),
        sum(each["execution"].nunique() for each in frames.values()),
        frame.attrs["steps_from"],
        {str(name): float(value) for name, value in means.items()},
        tuple(errors),
        frame,
        next(iter(frames.values())).attrs["cpu_operations"],
    )
