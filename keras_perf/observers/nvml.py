"""Reads NVIDIA GPUs through NVML. The one place that knows `pynvml`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class SensorError(RuntimeError):
    """A sensor cannot be read; the message says why and what is missing for it."""


class _Field(NamedTuple):
    tag: str
    read: Callable[[Any, Any], float]
    """From the pynvml module and a device handle to the value in the tag's unit."""


_MIB = 1024 * 1024

_FIELDS = (
    _Field("utilization_pct", lambda n, h: n.nvmlDeviceGetUtilizationRates(h).gpu),
    _Field("memory_utilization_pct", lambda n, h: n.nvmlDeviceGetUtilizationRates(h).memory),
    _Field("memory_used_mib", lambda n, h: n.nvmlDeviceGetMemoryInfo(h).used / _MIB),
    _Field("power_w", lambda n, h: n.nvmlDeviceGetPowerUsage(h) / 1e3),
    _Field("temperature_c", lambda n, h: n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU)),
    _Field("sm_clock_mhz", lambda n, h: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM)),
)

_GPM_FIELDS = {2: "sm_active_pct", 5: "tensor_active_pct", 10: "dram_bandwidth_pct"}
"""Ids of nvmlGpmMetricId_t (nvml.h): SM activity, any tensor pipe, DRAM bandwidth."""


class _Gpm:
    """Gap-free GPM metrics of one device: each sample ends one span and begins the next."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self._samples: list[Any] = []
        try:
            self._samples = [nvml.nvmlGpmSampleAlloc() for _ in range(2)]
            nvml.nvmlGpmSampleGet(handle, self._samples[0])
        except BaseException:
            self.close()
            raise

    def read(self) -> dict[str, float]:
        nvml = self._nvml
        nvml.nvmlGpmSampleGet(self._handle, self._samples[1])
        query = nvml.c_nvmlGpmMetricsGet_t()
        query.version = nvml.NVML_GPM_METRICS_GET_VERSION
        query.numMetrics = len(_GPM_FIELDS)
        query.sample1, query.sample2 = self._samples
        for slot, metric in enumerate(_GPM_FIELDS):
            query.metrics[slot].metricId = metric
        nvml.nvmlGpmMetricsGet(query)
        self._samples.reverse()
        return {
            _GPM_FIELDS[m.metricId]: float(m.value)
            for m in (query.metrics[slot] for slot in range(len(_GPM_FIELDS)))
            if m.nvmlReturn == nvml.NVML_SUCCESS
        }

    def close(self) -> None:
        for sample in self._samples:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlGpmSampleFree(sample)
        self._samples = []


class NvmlReader:
    """Samples of every GPU that this process may use, under TensorFlow's index.

    Cannot see: how much of the GPU a kernel uses (before Hopper), what other processes' share
    is, the order in which CUDA sorts GPUs of different speed without
    `CUDA_DEVICE_ORDER=PCI_BUS_ID`.

    Raises:
        SensorError: no driver, no GPU, or none visible to this process.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise SensorError("the package nvidia-ml-py is not installed") from error
        self._nvml = pynvml
        self._closed = False
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise SensorError(f"NVML does not start ({error})") from error
        self._gpm: dict[int, _Gpm] = {}
        self._unsupported: set[tuple[int, str]] = set()
        try:
            self._handles = self._visible(environ.get("CUDA_VISIBLE_DEVICES"))
            for index, handle in enumerate(self._handles):
                self._start_gpm(index, handle)
        except pynvml.NVMLError as error:
            self.close()
            raise SensorError(f"NVML cannot list the GPUs ({error})") from error
        if not self._handles:
            self.close()
            raise SensorError("no NVIDIA GPU is visible to this process")

    def _visible(self, wanted: str | None) -> list[Any]:
        nvml = self._nvml
        if wanted is None:
            count = nvml.nvmlDeviceGetCount()
            return [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
        handles = []
        for name in (part.strip() for part in wanted.split(",")):
            # CUDA stops at the first name that it does not know.
            if not name or name == "-1":
                break
            try:
                if name.isdigit():
                    handles.append(nvml.nvmlDeviceGetHandleByIndex(int(name)))
                else:
                    handles.append(nvml.nvmlDeviceGetHandleByUUID(name))
            except nvml.NVMLError_InvalidArgument:
                break
            except nvml.NVMLError_NotFound:
                break
        return handles

    def _start_gpm(self, index: int, handle: Any) -> None:
        # Older drivers lack the entry points, older GPUs the feature: then there is no GPM.
        with contextlib.suppress(self._nvml.NVMLError, AttributeError):
            if self._nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
                self._gpm[index] = _Gpm(self._nvml, handle)

    def describe(self) -> dict[str, str]:
        """Name and UUID by tag prefix, for the run's text.

        Raises:
            SensorError: NVML does not tell.
        """
        nvml = self._nvml
        try:
            return {
                f"gpu/{i}": f"{_text(nvml.nvmlDeviceGetName(h))} {_text(nvml.nvmlDeviceGetUUID(h))}"
                for i, h in enumerate(self._handles)
            }
        except nvml.NVMLError as error:
            raise SensorError(f"NVML cannot name the GPUs ({error})") from error

    def memory_total_mib(self) -> float:
        """Memory of the first GPU.

        Raises:
            SensorError: NVML does not tell.
        """
        try:
            return float(self._nvml.nvmlDeviceGetMemoryInfo(self._handles[0]).total / 2**20)
        except self._nvml.NVMLError as error:
            raise SensorError(f"NVML does not tell the GPU's memory ({error})") from error

    def read(self) -> dict[str, float]:
        """One sample: tag → value. What a device does not support is absent.

        Raises:
            SensorError: NVML failed for another reason (driver reset, GPU lost, permission).
        """
        nvml = self._nvml
        values: dict[str, float] = {}
        try:
            for index, handle in enumerate(self._handles):
                for field in _FIELDS:
                    if (index, field.tag) in self._unsupported:
                        continue
                    try:
                        values[f"gpu/{index}/{field.tag}"] = float(field.read(nvml, handle))
                    except nvml.NVMLError_NotSupported:
                        self._unsupported.add((index, field.tag))
                if index in self._gpm:
                    found = self._gpm[index].read()
                    values.update({f"gpu/{index}/{tag}": v for tag, v in found.items()})
        except nvml.NVMLError as error:
            raise SensorError(f"NVML stopped answering ({error})") from error
        return values

    def close(self) -> None:
        """Frees what NVML gave; safe to call twice."""
        for gpm in self._gpm.values():
            gpm.close()
        self._gpm.clear()
        if not self._closed:
            # NVML counts who started it: once each, or another's use would end.
            self._closed = True
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
