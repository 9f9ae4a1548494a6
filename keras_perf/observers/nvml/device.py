"""Everything that NVML tells of one device, as far as the device supports it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from keras_perf.observers.nvml.binding import absent, known, number_of
from keras_perf.observers.nvml.gpm import Gpm
from keras_perf.observers.nvml.listing import Gpu
from keras_perf.observers.nvml.metric_sources import (
    PCIE_RATE,
    QUESTIONS,
    EnergyCounter,
    Polled,
    Processes,
    Source,
    Utilization,
)
from keras_perf.observers.sensors.backoff import Backoff
from keras_perf.observers.sensors.sensor import SensorError, Values

GONE = (
    "NVML_ERROR_GPU_IS_LOST",
    "NVML_ERROR_RESET_REQUIRED",
    "NVML_ERROR_UNINITIALIZED",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH",
)
"""The GPU has to be opened anew."""


class Device:
    """The sources of one GPU, with a start of NVML of its own.

    A source is given up when it is not supported, and asked less and less often while it fails
    by itself. NVML counts who has started it: once every GPU has failed and was closed, the next
    to be opened starts it anew, as a driver that was reset needs it.

    Arguments:
        nvml: the pynvml module, started.
        gpu: which one.
        failed: told of the tags of a source that fails by itself, and why.
        clock: monotonic seconds.

    Attributes:
        unsupported: what it does not tell, without prefix.

    Raises:
        NVMLError: NVML does not start.
    """

    def __init__(
        self,
        nvml: Any,
        gpu: Gpu,
        failed: Callable[[Sequence[str], str], None],
        clock: Callable[[], float],
    ) -> None:
        self.gpu, self._nvml = gpu, nvml
        self._failed, self._clock = failed, clock
        self.unsupported: set[str] = set()
        self._absent, self._gone = absent(nvml), known(nvml, *GONE)
        nvml.nvmlInit()
        self._open = True
        self._due: dict[Source, float] = {}
        self._sources = self._supported()
        self._backoffs = {source: Backoff() for source in self._sources}

    def _supported(self) -> list[Source]:
        """What can be asked, as far as that shows before it is asked."""
        nvml, handle = self._nvml, self.gpu.handle
        # The counter first: it divides by the time that was read just before.
        sources: list[Source] = [
            EnergyCounter(nvml, handle),
            Utilization(nvml, handle),
            Processes(nvml, handle),
            *(Polled(nvml, handle, question) for question in QUESTIONS),
        ]
        try:
            return [*sources, self.gpu.gpm()]
        except (nvml.NVMLError, AttributeError):
            self.unsupported.update(set(Gpm.tags) - set(PCIE_RATE.tags))
            return [*sources, Polled(nvml, handle, PCIE_RATE)]

    def memory_total_mib(self) -> float:
        """All of its memory."""
        return float(self._nvml.nvmlDeviceGetMemoryInfo(self.gpu.handle).total / 2**20)

    def persistence(self) -> bool | None:
        """Whether the driver stays loaded while nobody uses the GPU; None if it does not tell."""
        try:
            mode = self._nvml.nvmlDeviceGetPersistenceMode(self.gpu.handle)
        except (self._nvml.NVMLError, AttributeError):
            return None
        return bool(mode == self._nvml.NVML_FEATURE_ENABLED)

    def read(self) -> Values:
        """One sample, without the device's prefix.

        Raises:
            SensorError: the GPU is gone, or NVML, or all that was asked failed.
        """
        now = self._clock()
        values: dict[str, Any] = {}
        failures: list[tuple[Source, str]] = []
        answers = 0
        for source in tuple(self._sources):
            if now < self._due.get(source, now) or self._backoffs[source].rests(now):
                continue
            self._due[source] = now + source.every_s
            try:
                values.update(source.read(now))
            except self._absent:
                self.unsupported.update(source.tags)
                self._sources.remove(source)
                source.close()
            except self._nvml.NVMLError as error:
                if number_of(error) in self._gone:
                    raise SensorError(str(error)) from error
                failures.append((source, str(error)))
            else:
                answers += 1
                self._backoffs[source].answers()
        if failures and not answers:
            raise SensorError(failures[0][1])
        for source, why in failures:
            self._backoffs[source].fails(now)
            self._failed(source.tags, why)
        return values

    def close(self) -> None:
        """Gives back what the sources hold; safe to call twice."""
        for source in self._sources:
            source.close()
        self._sources = []
        if self._open:
            self._open = False
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()
