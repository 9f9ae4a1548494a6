"""Everything that NVML tells of one device, as far as the device supports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_perf.observers.cuda_devices import Gpu
from keras_perf.observers.gpm import Gpm
from keras_perf.observers.nvml_sources import (
    PCIE_RATE,
    QUESTIONS,
    EnergyCounter,
    Polled,
    Processes,
    Source,
    Utilization,
)
from keras_perf.observers.sensor import Values


class Device:
    """The sources of one GPU; each is given up when it is not supported.

    Arguments:
        nvml: the pynvml module.
        gpu: who it is.
        handle: NVML's handle of it.
        gpm: starts its GPM.

    Attributes:
        unsupported: what it does not tell, without prefix.
    """

    def __init__(self, nvml: Any, gpu: Gpu, handle: Any, gpm: Callable[[], Gpm]) -> None:
        self.gpu, self._nvml, self._handle = gpu, nvml, handle
        self.unsupported: set[str] = set()
        # AttributeError: a binding older than the function, or than the error.
        self._absent = (
            nvml.NVMLError_NotSupported,
            nvml.NVMLError_FunctionNotFound,
            getattr(nvml, "NVMLLibraryMismatchError", AttributeError),
            AttributeError,
        )
        self._due: dict[Source, float] = {}
        self._sources: list[Source] = [
            Utilization(nvml, handle),
            EnergyCounter(nvml, handle),
            Processes(nvml, handle),
        ]
        self._sources += [Polled(nvml, handle, question) for question in QUESTIONS]
        try:
            self._sources.append(gpm())
        except (nvml.NVMLError, AttributeError):
            self.unsupported.update(Gpm.tags)
            self._sources.append(Polled(nvml, handle, PCIE_RATE))
            self.unsupported.difference_update(PCIE_RATE.tags)

    def memory_total_mib(self) -> float:
        """All of its memory."""
        return float(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).total / 2**20)

    def read(self, now: float) -> Values:
        """One sample, without the device's prefix; `now` in monotonic seconds."""
        values: dict[str, Any] = {}
        for source in tuple(self._sources):
            if now < self._due.get(source, now):
                continue
            self._due[source] = now + source.every_s
            try:
                values.update(source.read(now))
            except self._absent:
                self.unsupported.update(source.tags)
                self._sources.remove(source)
                source.close()
        return values

    def close(self) -> None:
        """Gives back what the sources hold; safe to call twice."""
        for source in self._sources:
            source.close()
        self._sources = []
