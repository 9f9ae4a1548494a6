"""Scalars and context of a log directory."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd

from keras_perf.read.event_files import events, run_files
from keras_perf.records.metrics import CONTEXT_TAG


def load_scalars(log_dir: str | os.PathLike[str]) -> pd.DataFrame:
    """All scalars that keras_perf logged under `log_dir`.

    Returns:
        A frame with one row a value and the columns `run` (path below `log_dir`), `tag`, `step`
        (optimizer step), `wall_time` (seconds since the epoch) and `value`, in the order in
        which they were written. Values carry the precision of a float32.

    Arguments:
        log_dir: the directory given to the callbacks, or one above it.

    Raises:
        NoRunError: (a FileNotFoundError) nothing of ours is there.

    A file cut off by a killed process is read up to its last whole record, with a warning.
    """
    parts = [_read(path, run)[0] for run, files in run_files(log_dir).items() for path in files]
    frame = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    return frame.astype({"run": "category", "tag": "category"})


def load_newest(
    log_dir: str | os.PathLike[str],
) -> dict[str, tuple[pd.DataFrame, dict[str, Any]]]:
    """Scalars and context of the newest `fit` of each run.

    A context is {} while training has not got as far as its first interval.
    """
    return {run: _read(files[-1], run) for run, files in run_files(log_dir).items()}


def _read(path: Path, run: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    tags: list[str] = []
    steps: list[int] = []
    times: list[float] = []
    values: list[float] = []
    context: dict[str, Any] = {}
    for event in events(path):
        step, wall_time = event.step, event.wall_time
        for value in event.summary.value:
            if value.HasField("simple_value"):
                tags.append(value.tag)
                steps.append(step)
                times.append(wall_time)
                values.append(value.simple_value)
            elif value.tag == CONTEXT_TAG:
                context = json.loads(value.tensor.string_val[0])
    frame = pd.DataFrame(
        {
            "run": pd.Categorical([run] * len(tags), categories=[run]),
            "tag": pd.Categorical(tags),
            "step": pd.array(steps, dtype="int64"),
            "wall_time": pd.array(times, dtype="float64"),
            "value": pd.array(values, dtype="float64"),
        }
    )
    return frame, context
