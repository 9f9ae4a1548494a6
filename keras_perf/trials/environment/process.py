"""A process that trains when it is asked to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from keras_perf.trials.other_process.saved_model import environment

CHILD = "keras_perf.trials.environment.child"
GROWS = {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}
"""Two processes share a GPU: none takes all of its memory at once."""


class FailedError(Exception):
    """The process ended, or said what went wrong."""


class TrainingProcess:
    """Asks, and reads what is answered.

    Arguments:
        process: a child.
        limit_s: seconds for an answer; it is ended then.
    """

    def __init__(self, process: subprocess.Popen[str], limit_s: float) -> None:
        self._process, self._limit_s = process, limit_s
        self._has_begun = False

    def begins(self) -> None:
        """Waits until it trains.

        Raises:
            FailedError: it does not.
        """
        if not self._has_begun:
            self._answer()
            self._has_begun = True

    def step_ms(self) -> float:
        """A step, in a slice of training.

        Raises:
            FailedError: it ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except OSError as error:
            raise FailedError("its process ended") from error
        return self._answer()["step_ms"]

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        patience = Timer(self._limit_s, self._process.kill)
        patience.start()
        try:
            line = self._process.stdout.readline()
        finally:
            patience.cancel()
        if not line:
            raise FailedError(f"its process ended, or did not answer within {self._limit_s:.0f} s")
        answer = json.loads(line)
        if "failed" in answer:
            raise FailedError(answer["failed"])
        return dict(answer)


@contextmanager
def training_process(
    folder: Path, settings: Mapping[str, str], limit_s: float
) -> Iterator[TrainingProcess]:
    """A child that reads the training of a folder, for as long as it is needed.

    Arguments:
        folder: with a `HandedTraining`.
        settings: of its environment.
        limit_s: seconds for each of its answers.
    """
    # In a session of its own: Ctrl-C is heard here, and ends it from here.
    process = subprocess.Popen(
        [sys.executable, "-m", CHILD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(**GROWS, **settings),
        start_new_session=True,
    )
    try:
        yield TrainingProcess(process, limit_s)
    finally:
        process.kill()
        process.communicate()
