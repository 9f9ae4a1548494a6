"""sample_gpus: the GPUs beside any code at all. Needs neither TensorFlow nor Keras."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from keras_perf.observation.facts.ending_facts import ended_by
from keras_perf.observation.failure_line import warn_of
from keras_perf.observation.safe_writer import SafeWriter
from keras_perf.observers.delayed_signals import PATIENCE_S, uninterrupted
from keras_perf.observers.gpu_and_host import GpuHostSampler
from keras_perf.observers.sensors.sampler import sampling_interval
from keras_perf.records.phase import Phase
from keras_perf.records.run.ending import Ending, How
from keras_perf.records.run.run_facts import RunFacts
from keras_perf.records.run.settings import SAMPLE_GPUS, Settings
from keras_perf.report.text.text_tab import gpus_markdown
from keras_perf.write.writable_log_dir import writable_log_dir

logger = logging.getLogger("keras_perf")

DONE = Ending(How.DONE)

POINT_EVERY_S = 0.5
"""Seconds between two points."""


class GpuSampling:
    """What `sample_gpus` gives.

    Attributes:
        step: the training step that points are written at; set it in the loop. Where it is
            left at None points are counted.
    """

    def __init__(self, log_dir: str, interval_s: float) -> None:
        self.step: int | None = None
        self._process = os.getpid()
        self._failed = False
        self._writer = SafeWriter(log_dir)
        self._points = self._last_point = 0
        self._last_step: int | None = None
        # Starting NVML can take seconds, and the thread samples before we have `_sampler`.
        self._due = math.inf
        with ExitStack() as opened:
            opened.callback(self._writer.close)
            self._sampler = GpuHostSampler(
                interval_s,
                logger.warning,
                absent=logger.warning,
                phase=Phase.TRAINING,
                after_sample=self._write_if_due,
            )
            opened.pop_all()
        self._due = time.monotonic() + POINT_EVERY_S

    def enter(self, phase: str) -> None:
        """From now on it is `training`, `validation` or `between` the two.

        Raises:
            ValueError: another word.
        """
        if phase not in {known.value for known in Phase}:
            raise ValueError(f"phase must be 'training', 'validation' or 'between', got {phase!r}.")
        self._sampler.enter(Phase(phase))

    def close(self, ending: Ending = DONE) -> None:
        """Ends the thread and writes what is left, and how the block has ended.

        In a forked child, nothing.
        """
        if os.getpid() != self._process:
            return
        with uninterrupted(PATIENCE_S), ExitStack() as opened:
            opened.callback(self._writer.close)
            self._sampler.stop()
            if not self._failed:
                self._try(self._write)
            if not self._failed:
                self._try(lambda: self._describe(ending))

    def _write_if_due(self) -> None:
        if not self._failed and time.monotonic() >= self._due:
            self._due = time.monotonic() + POINT_EVERY_S
            self._try(self._write)

    def _try(self, work: Callable[[], None]) -> None:
        """Does it; says the first time that it went wrong."""
        try:
            work()
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            if not self._failed:
                warn_of(error, "writing GPU figures", "they are missing from now on")
            self._failed = True

    def _write(self) -> None:
        self._points += 1
        known = None if self.step is None else int(self.step)
        step = self._last_point = self._points if known is None else known
        # How many steps came before the first one that is set is not known.
        steps = 0 if known is None or self._last_step is None else known - self._last_step
        self._last_step = known
        values = self._sampler.take(steps, None)
        if self._points == 1:
            self._describe(Ending(How.RUNNING))
            if gpus := self._sampler.gpus():
                self._writer.text(step, "perf/gpus", gpus_markdown(gpus))
        self._writer.scalars(step, values)

    def _describe(self, ending: Ending) -> None:
        settings = Settings(driver=SAMPLE_GPUS)
        facts = RunFacts(gpu=self._sampler.facts, settings=settings, ending=ending)
        self._writer.context(self._last_point, facts.to_json())


def sample_gpus(
    log_dir: str | os.PathLike[str], *, interval_s: float = 0.2
) -> contextlib.AbstractContextManager[GpuSampling]:
    """Samples the GPUs that CUDA shows this process, and the host, while the block runs.

    Logs what `GPUUtilizationSampler` logs, twice a second. All of the block counts as training
    unless it says otherwise.

    Returns:
        A context manager; what it gives has `step`, to be set to the training step, and
        `enter("validation")`, `enter("training")`, `enter("between")`.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        interval_s: seconds between two samples, above 0.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    What it cannot see: which of these GPUs a framework leaves alone.

    >>> import keras_perf as kp
    >>> with kp.sample_gpus("logs/loop") as gpus:
    ...     for step in range(3):
    ...         gpus.step = step
    """
    return _sampled(writable_log_dir(log_dir), sampling_interval(interval_s))


@contextlib.contextmanager
def _sampled(log_dir: str, interval_s: float) -> Iterator[GpuSampling]:
    sampling = GpuSampling(log_dir, interval_s)
    try:
        yield sampling
    except BaseException as error:
        # What ends a program regularly, with 0 or nothing, is no failure.
        ends = isinstance(error, SystemExit) and not error.code
        sampling.close(DONE if ends else ended_by(error))
        raise
    sampling.close()
