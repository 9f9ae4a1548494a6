"""GPUUtilizationSampler."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import Any

from keras_perf.callbacks.observing_callback import ObservingCallback
from keras_perf.observation.failure_line import harmless
from keras_perf.observation.observation import Observation
from keras_perf.observers.delayed_signals import PATIENCE_S, uninterrupted
from keras_perf.observers.gpu_and_host import GpuHostSampler
from keras_perf.observers.sensors.epoch_line import EpochLine
from keras_perf.observers.sensors.sampler import sampling_interval
from keras_perf.records.arguments import require_bool
from keras_perf.records.phase import Phase
from keras_perf.report.text.text_tab import gpus_markdown

logger = logging.getLogger("keras_perf")


class GPUUtilizationSampler(ObservingCallback):
    """Samples the GPUs and the host in the background while `fit` trains.

    Logs time-weighted means of each interval's training time as `gpu/<i>/*` (NVML, on Hopper
    and newer also GPM) and `host/*` (psutil), with extremes, validation and energy beside them,
    and what TensorFlow has allocated on each GPU;
    `<i>` is TensorFlow's number of the GPU. Where it uses none, all GPUs of the machine are logged
    in NVML's order, and left out of the diagnosis. On a machine without an NVIDIA GPU it logs the
    host only; where there is one that cannot be read, one line says why.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        interval_s: seconds between two samples, above 0.
        epoch_line: print a line about the GPUs after each epoch.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    What it cannot see: NVML's utilization says only that some kernel ran, not how much of the
    GPU it used; power is averaged by the driver.

    >>> import keras_perf as kp
    >>> gpu = kp.GPUUtilizationSampler("logs/run1", interval_s=0.5)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        interval_s: float = 0.2,
        epoch_line: bool = False,
    ) -> None:
        super().__init__(log_dir)
        self.interval_s = sampling_interval(interval_s)
        self.epoch_line = require_bool("epoch_line", epoch_line)
        self._forget()

    def _forget(self) -> None:
        self._sampler: GpuHostSampler | None = None
        self._step: int | None = None
        self._line: EpochLine | None = None
        self._described = False

    def observation_begins(self, observation: Observation) -> None:
        """Starts the thread."""
        self._forget()
        self._line = EpochLine() if self.epoch_line else None
        recording = observation.recording
        seen = recording.ask("tensorflow_gpus", observation.backend.gpus)
        with uninterrupted(PATIENCE_S):
            self._sampler = GpuHostSampler(
                self.interval_s, logger.warning, seen, absent=logger.info
            )
        recording.facts = replace(recording.facts, gpu=self._sampler.facts)
        recording.not_known |= self._sampler.not_known

    @harmless
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """From here on it is training."""
        self.phase_begins(Phase.TRAINING)

    @harmless
    def on_test_begin(self, logs: Any = None) -> None:
        """From here on it is validation."""
        self.phase_begins(Phase.VALIDATION)

    @harmless
    def on_test_end(self, logs: Any = None) -> None:
        """From here on it is neither; behind an `evaluate` of a batch hook, training again."""
        within = self.observation is not None and self.observation.mid_epoch
        self.phase_begins(Phase.TRAINING if within else Phase.BETWEEN)

    @harmless
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """From here on it is neither; the epoch's line."""
        self.phase_begins(Phase.BETWEEN)
        if self._line is not None and (line := self._line.take()):
            print(f"Epoch {epoch + 1}: {line}")

    def epoch_ends(self, *, validates: bool) -> None:
        """From here on it is no training, whichever callback comes first."""
        self.phase_begins(Phase.VALIDATION if validates else Phase.BETWEEN)

    def phase_begins(self, phase: Phase) -> None:
        """From here on it is this one."""
        if self._sampler is not None:
            self._sampler.enter(phase)

    def interval_ends(self, step: int, wall_time: float, final: bool) -> None:
        """Writes the figures since the last interval."""
        if self._sampler is None:
            return
        training = self._training
        # Only now the first one is known: a callback after us may have restored a checkpoint.
        before = training.first_step if self._step is None else self._step
        steps, self._step = step - before, step
        examples = training.recording.facts.length.examples_per_step
        ask, backend = training.recording.ask, training.backend
        allocated = ask("allocated_memory", backend.allocated_by_tag) or {}
        values = self._sampler.take(steps, examples) | allocated
        self.writer.scalars(step, values, wall_time)
        if self._line is not None:
            self._line.add(values, max(1, steps))
        if not self._described and values:
            self._described = True
            if gpus := self._sampler.gpus():
                self.writer.text(step, "perf/gpus", gpus_markdown(gpus))

    def leaves(self, aborted: bool) -> None:
        """Ends the thread and gives NVML back."""
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()
