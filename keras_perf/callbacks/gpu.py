"""GPUUtilizationSampler."""

from __future__ import annotations

import logging
import os

from keras_perf.callbacks.listening import ListeningCallback, require_number
from keras_perf.callbacks.observation import Observation
from keras_perf.observers.host import HostReader
from keras_perf.observers.nvml import NvmlReader, SensorError
from keras_perf.observers.sampler import BackgroundSampler, Reader

logger = logging.getLogger("keras_perf")


class GPUUtilizationSampler(ListeningCallback):
    """Samples the GPUs and the host in the background while `fit` trains.

    Logs time-weighted means of each interval as `gpu/<i>/*` (NVML, on Hopper and newer also
    GPM) and `host/*` (psutil). On a machine without an NVIDIA driver it says so in one line and
    logs the host only.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        interval_s: seconds between two samples, above 0.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    What it cannot see: NVML's utilization says only that some kernel ran, not how much of the
    GPU it used; power is averaged by the driver; validation inside an interval is included.

    >>> import keras_perf as kp
    >>> gpu = kp.GPUUtilizationSampler("logs/run1", interval_s=0.5)
    """

    def __init__(self, log_dir: str | os.PathLike[str], *, interval_s: float = 0.2) -> None:
        super().__init__(log_dir)
        self.interval_s = require_number(
            "interval_s", interval_s, above=0, remedy="The default is 0.2, five samples a second."
        )
        self._sampler: BackgroundSampler | None = None

    def observation_begins(self, observation: Observation) -> None:
        """Starts the thread."""
        readers: list[Reader] = [HostReader()]
        try:
            gpus = NvmlReader()
            observation.recording.context["gpus"] = gpus.describe()
            observation.recording.context["gpu_memory_total_mib"] = gpus.memory_total_mib()
        except SensorError as error:
            logger.warning(
                "keras_perf: %s: GPU figures are missing, CPU and memory are sampled.", str(error)
            )
        else:
            readers.append(gpus)
        self._sampler = BackgroundSampler(readers, self.interval_s, logger.warning)
        self._sampler.start()

    def interval_ends(self, step: int, wall_time: float, final: bool) -> None:
        """Writes the means since the last interval."""
        if self._sampler is not None:
            self.writer.scalars(step, self._sampler.take(), wall_time)

    def leaves(self, aborted: bool) -> None:
        """Ends the thread and gives NVML back."""
        if self._sampler is not None:
            self._sampler.stop()
            self._sampler = None
