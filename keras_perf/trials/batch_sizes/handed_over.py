"""A model and a batch, handed over to a process of their own that measures them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras

from keras_perf.records.reasons.reason import worded
from keras_perf.records.reasons.why_not_trained import WhyNotTrained
from keras_perf.records.text.error_line import error_line
from keras_perf.trials.backends.chosen import trial_backend
from keras_perf.trials.batch_sizes.child import Answer, Task, is_out_of_memory
from keras_perf.trials.other_process.saved_model import (
    REMEDY,
    SavedModel,
    environment,
)

CHILD = "keras_perf.trials.batch_sizes.child"


class TooLongError(Exception):
    """The child did not end in time."""


@dataclass(frozen=True)
class HandedOver:
    """For other processes: the model, where a batch is, and what the program has set."""

    model: SavedModel
    batch: str
    settings: dict[str, Any]


@contextmanager
def handed_over(model: keras.Model, batch: Any) -> Iterator[HandedOver]:
    """A model and a batch in files, for as long as they are needed.

    Raises:
        ValueError: the model or the batch cannot be written.
        OSError: the disk has no room for the batch.
    """
    with TemporaryDirectory(prefix="keras_perf_") as name:
        saved, place = SavedModel.of(model, Path(name)), str(Path(name, "batch"))
        try:
            trial_backend().save(batch, place)
        except OSError:
            raise
        except Exception as error:
            raise ValueError(
                f"dataset must yield batches that tf.data can save, got {error_line(error)}. "
                "Map it to dense tensors."
            ) from error
        yield HandedOver(saved, place, trial_backend().program_settings())


def measured_in_a_child(
    written: HandedOver,
    batch_size: int,
    *,
    memory_limit_mib: float | None,
    seconds: float,
    limit_s: float,
    predict: bool = False,
) -> Answer:
    """What a child of its own finds for this batch size, or how it ended.

    Raises:
        TooLongError: it took longer than `limit_s` and was killed.
        ValueError: the model cannot be read there.
    """
    task = Task(
        **vars(written),
        batch_size=batch_size,
        memory_limit_mib=memory_limit_mib,
        seconds=seconds,
        parent=os.getpid(),
        predict=predict,
    )
    command = [sys.executable, "-m", CHILD, json.dumps(asdict(task))]
    try:
        answer = _answer(run(command, limit_s))
    except subprocess.TimeoutExpired as error:
        raise TooLongError from error
    if answer.unreadable:
        raise ValueError(
            f"model must be one that another process can read, got {answer.failed}. {REMEDY}"
        )
    return answer


def run(command: list[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    """A process from its beginning to its end, which Ctrl-C here brings about, too.

    `subprocess.run` kills it then, and does not wait until it has given its memory back.

    Raises:
        subprocess.TimeoutExpired: it took longer than `limit_s` and was killed.
    """
    # Never a fork: TensorFlow's threads would be missing in it.
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment(KERAS_BACKEND=keras.backend.backend()),
    ) as process:
        try:
            told, said = process.communicate(timeout=limit_s)
        finally:
            process.kill()
            process.wait()
    return subprocess.CompletedProcess(command, process.returncode, told, said)


def _answer(done: subprocess.CompletedProcess[str]) -> Answer:
    if done.returncode == 0:
        told = next(filter(None, map(_told, reversed(done.stdout.splitlines()))), None)
        if told is None:
            return Answer(failed=WhyNotTrained.NO_ANSWER.of())
        return Answer(**{**told, "failed": worded(WhyNotTrained)(told["failed"])})
    last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no word")
    if done.returncode == -signal.SIGKILL:
        # What the system does to a process where memory runs out.
        return Answer(failed=WhyNotTrained.KILLED.of(), out_of_memory=True)
    out = is_out_of_memory(RuntimeError(done.stderr))
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        why = WhyNotTrained.ENDED_BY.of(signal=name, last=last.strip())
    else:
        why = WhyNotTrained.ENDED.of(code=done.returncode, last=last.strip())
    return Answer(failed=why, out_of_memory=out)


def _told(line: str) -> dict[str, Any] | None:
    """An answer; None where a line is none, as of what Python runs before the child."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    names = {each.name for each in fields(Answer)}
    return found if isinstance(found, dict) and found.keys() == names else None
