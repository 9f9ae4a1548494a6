"""A model and a batch, handed over to a process of their own that measures them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras
import tensorflow as tf

from keras_perf.trials.batch_sizes.child import Answer, Task, in_one_line, is_out_of_memory
from keras_perf.trials.batch_sizes.custom_objects import modules_of_custom_objects

CHILD = "keras_perf.trials.batch_sizes.child"
REMEDY = (
    "keras.saving.load_model must read it in another process: keep its classes and functions in a "
    "module that can be imported (a file beside the script or notebook), under "
    "@keras.saving.register_keras_serializable(), let __init__ take **kwargs, and get_config "
    "return its other arguments."
)


class TooLongError(Exception):
    """The child did not end in time."""


@contextmanager
def handed_over(model: keras.Model, batch: Any) -> Iterator[Path]:
    """A folder with `model.keras` and `batch`, for as long as it is needed.

    Raises:
        ValueError: the model or the batch cannot be written.
    """
    with TemporaryDirectory(prefix="keras_perf_") as name:
        folder = Path(name)
        try:
            model.save(folder / "model.keras")
        except Exception as error:
            raise ValueError(
                f"model must be one that model.save can write, got {in_one_line(error)}. {REMEDY}"
            ) from error
        try:
            tf.data.Dataset.from_tensors(batch).save(str(folder / "batch"))
        except Exception as error:
            raise ValueError(
                f"dataset must yield batches that tf.data can save, got {in_one_line(error)}. "
                "Map it to dense tensors."
            ) from error
        yield folder


def measured_in_a_child(
    folder: Path,
    batch_size: int,
    *,
    memory_limit_mib: float | None,
    seconds: float,
    limit_s: float,
) -> Answer:
    """What a child of its own finds for this batch size, or how it ended.

    Raises:
        TooLongError: it took longer than `limit_s` and was killed.
        ValueError: the model cannot be read there.
    """
    policy = keras.config.dtype_policy().name
    task = Task(
        str(folder),
        batch_size,
        memory_limit_mib,
        seconds,
        policy,
        keras.config.floatx(),
        keras.config.image_data_format(),
        modules_of_custom_objects(),
    )
    command = [sys.executable, "-m", CHILD, json.dumps(asdict(task))]
    # Never a fork: TensorFlow's threads would be missing in it.
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            env=_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TooLongError from error
    answer = _answer(done)
    if answer.unreadable:
        raise ValueError(
            f"model must be one that another process can read, got {answer.failed}. {REMEDY}"
        )
    return answer


def _environment() -> dict[str, str]:
    """As here, and what can be imported here can be there."""
    path = os.pathsep.join(each or os.getcwd() for each in sys.path)
    return {**os.environ, "PYTHONPATH": path}


def _answer(done: subprocess.CompletedProcess[str]) -> Answer:
    if done.returncode == 0:
        return Answer(**json.loads(done.stdout.splitlines()[-1]))
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no word")
    if done.returncode == -signal.SIGKILL:
        # What the system does to a process where memory runs out.
        return Answer(failed="killed (SIGKILL)", out_of_memory=True)
    out = is_out_of_memory(RuntimeError(done.stderr))
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return Answer(failed=f"ended by {name}: {last.strip()}", out_of_memory=out)
    return Answer(failed=f"ended with code {done.returncode}: {last.strip()}", out_of_memory=out)
