"""What NVML tells of one device, call by call."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras_perf.observers.nvml.binding import absent, known
from keras_perf.observers.sensors.sensor import Values

_MIB = 1024 * 1024

SLOW_S = 2.0
"""For what rarely changes, or takes the driver long: PCIe rates are measured for 20 ms each."""


class Source(ABC):
    """One of the things that a device can be asked.

    Arguments:
        nvml: the pynvml module, started.
        handle: of the device.

    Attributes:
        tags: what it tells, without the device's prefix.
        every_s: it is asked no sooner than so many seconds after the last time.
    """

    tags: Sequence[str]
    every_s = 0.0

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    @abstractmethod
    def read(self, now: float) -> Values:
        """The answer; raises NVML's errors."""

    def close(self) -> None:  # noqa: B027  most hold nothing
        """Gives back what it holds."""


_POWER_CAP, _THERMAL, _POWER_BRAKE, _HARDWARE = 0x04, 0x20 | 0x40, 0x80, 0x08
"""`nvmlClocksEventReason…` of nvml.h."""


class Question(NamedTuple):
    """A call of pynvml without a memory of its own."""

    tags: tuple[str, ...]
    ask: Callable[[Any, Any], Sequence[float]]
    """From the pynvml module and a device handle to the values in the tags' units."""
    every_s: float = 0.0


def _throttled(nvml: Any, handle: Any) -> Sequence[float]:
    """Drivers and bindings before 535 have the same by another name."""
    try:
        reasons = nvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except absent(nvml):
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    masks = _POWER_CAP, _THERMAL, _POWER_BRAKE, _HARDWARE
    return [100.0 * bool(reasons & mask) for mask in masks]


def _pcie_rate(nvml: Any, handle: Any) -> Sequence[float]:
    counters = nvml.NVML_PCIE_UTIL_TX_BYTES, nvml.NVML_PCIE_UTIL_RX_BYTES
    return [nvml.nvmlDeviceGetPcieThroughput(handle, counter) / 1024 for counter in counters]


def _memory_used(nvml: Any, handle: Any) -> Sequence[float]:
    """As nvidia-smi has it; a driver before 510 counts what it keeps for itself, too."""
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except absent(nvml):
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    return [memory.used / _MIB]


QUESTIONS = (
    Question(("memory_used_mib",), _memory_used),
    Question(("power_w",), lambda n, h: [n.nvmlDeviceGetPowerUsage(h) / 1e3]),
    Question(
        ("temperature_c",), lambda n, h: [n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU)]
    ),
    Question(("sm_clock_mhz",), lambda n, h: [n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM)]),
    Question(
        (
            "throttled_power_cap_pct",
            "throttled_thermal_pct",
            "throttled_power_brake_pct",
            "throttled_hardware_pct",
        ),
        _throttled,
    ),
    Question(
        ("pcie_lanes", "pcie_max_lanes"),
        lambda n, h: [n.nvmlDeviceGetCurrPcieLinkWidth(h), n.nvmlDeviceGetMaxPcieLinkWidth(h)],
        SLOW_S,
    ),
    Question(
        ("pcie_generation", "pcie_max_generation"),
        lambda n, h: [
            n.nvmlDeviceGetCurrPcieLinkGeneration(h),
            n.nvmlDeviceGetMaxPcieLinkGeneration(h),
        ],
        SLOW_S,
    ),
)

PCIE_RATE = Question(
    ("pcie_sent_mib_per_sec", "pcie_received_mib_per_sec"), _pcie_rate, every_s=SLOW_S
)
"""For a device without GPM, which tells the same without a gap."""


class Polled(Source):
    """A question to one device."""

    def __init__(self, nvml: Any, handle: Any, question: Question) -> None:
        super().__init__(nvml, handle)
        self._question = question
        self.tags, self.every_s = question.tags, question.every_s

    def read(self, now: float) -> Values:
        """The values now."""
        values = self._question.ask(self._nvml, self._handle)
        return dict(zip(self.tags, map(float, values), strict=True))


class Utilization(Source):
    """Utilization, from the driver's own buffer where that is denser than our asking."""

    tags = ("utilization_pct",)
    _MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    """Of the union in a sample, by nvmlValueType_t (nvml.h)."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        super().__init__(nvml, handle)
        self._newest, self._buffered = 0, True
        # The buffer holds what was before us, too.
        self._from_buffer()

    def read(self, now: float) -> Values:
        """A percentage, or a series of them where the driver has kept one."""
        rates = self._nvml.nvmlDeviceGetUtilizationRates(self._handle)
        dense = self._from_buffer()
        return {"utilization_pct": dense if len(dense) > 1 else float(rates.gpu)}

    def _from_buffer(self) -> list[float]:
        if not self._buffered:
            return []
        nvml = self._nvml
        try:
            kind, samples = nvml.nvmlDeviceGetSamples(
                self._handle, nvml.NVML_GPU_UTILIZATION_SAMPLES, self._newest
            )
        except known(nvml, "NVMLError_NotFound"):
            return []
        except (nvml.NVMLError, AttributeError):
            # The polled value answers for this one, also for what is wrong with the device.
            self._buffered = False
            return []
        new = [sample for sample in samples if sample.timeStamp > self._newest]
        if new:
            self._newest = new[-1].timeStamp
        return [float(getattr(s.sampleValue, self._MEMBERS[kind])) for s in new]


class EnergyCounter(Source):
    """Mean power since the last call, from the device's counter of millijoules: exact."""

    tags = ("mean_power_w",)

    _last: tuple[float, int] | None = None

    def read(self, now: float) -> Values:
        """Nothing at first, nor after the counter began anew."""
        before, self._last = self._last, (now, self._count())
        if before is None or now <= before[0] or self._last[1] < before[1]:
            return {}
        return {"mean_power_w": (self._last[1] - before[1]) / 1e3 / (now - before[0])}

    def _count(self) -> int:
        return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle))


class Processes(Source):
    """Whose memory it is."""

    tags = ("process_memory_used_mib", "other_processes", "other_memory_used_mib")
    every_s = SLOW_S

    def read(self, now: float) -> Values:
        """Nothing where this process is not among those that NVML lists.

        In a container NVML may know it by another number, and then none can be told from ours.
        """
        listed = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        own = [process for process in listed if process.pid == os.getpid()]
        if not own:
            return {}
        others = {process.pid for process in listed} - {os.getpid()}
        values = {"other_processes": float(len(others))}
        with contextlib.suppress(TypeError):  # None where the driver keeps it to itself
            values["process_memory_used_mib"] = sum(p.usedGpuMemory for p in own) / _MIB
            all_of_it = sum(process.usedGpuMemory for process in listed) / _MIB
            values["other_memory_used_mib"] = all_of_it - values["process_memory_used_mib"]
        return values
