"""A process that trains when it is asked to."""

from __future__ import annotations

import json
import os
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
            # Whatever Python runs before its main function (sitecustomize, say) may print.
            self._answer(may_print=True)
            self._has_begun = True
        elif self._process.poll() is not None:
            raise FailedError("the process that it would take turns with ended")

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

    def _answer(self, *, may_print: bool = False) -> dict[str, float]:
        patience = Timer(self._limit_s, self._process.kill)
        patience.start()
        try:
            return self._read(may_print=may_print)
        finally:
            patience.cancel()

    def _read(self, *, may_print: bool) -> dict[str, float]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                answer = json.loads(line)
            except ValueError:
                answer = None
            if isinstance(answer, dict):
                if "failed" in answer:
                    raise FailedError(answer["failed"])
                return answer
            if not may_print:
                break
        raise FailedError(f"its process ended, or did not answer within {self._limit_s:.0f} s")


@contextmanager
def training_process(
    folder: Path, settings: Mapping[str, str], limit_s: float
) -> Iterator[TrainingProcess]:
    """A child that reads the training of a folder, for as long as it is needed.

    Arguments:
        folder: with a `HandedTraining`.
        settings: of its environment.
        limit_s: seconds for each of its answers.

    Raises:
        FailedError: it cannot be started.
    """
    # In a session of its own: Ctrl-C is heard here, and ends it from here.
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", CHILD, str(folder), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=environment(**{**GROWS, **settings}),
            start_new_session=True,
        )
    except OSError as error:
        raise FailedError(f"no process could be started ({error.strerror})") from error
    try:
        yield TrainingProcess(process, limit_s)
    finally:
        process.kill()
        process.communicate()
