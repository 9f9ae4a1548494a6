"""Reads NVIDIA GPUs through NVML. The one place that knows `pynvml`."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from keras_perf.observers.cuda_devices import Gpu, Seen, select
from keras_perf.observers.gpm import Gpm
from keras_perf.observers.nvml_device import Device
from keras_perf.observers.sensor import SensorError, Values


class NvmlReader:
    """Samples of every GPU that this process uses, under the framework's index.

    Arguments:
        environ: where `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER` are looked up.
        seen: what the framework in this process says of its GPUs.
        clock: monotonic seconds.

    Attributes:
        doubt: why a GPU's number may be wrong; empty where it is certain.

    Cannot see: how much of the GPU a kernel uses (before Hopper).

    Raises:
        SensorError: no driver, no GPU, or none visible to this process.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        seen: Seen | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise SensorError("the package nvidia-ml-py is not installed") from error
        self._nvml, self._clock = pynvml, clock
        self._closed = False
        self._devices: list[Device] = []
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise SensorError(f"NVML does not start ({error})") from error
        self._handles: dict[str, _Handle] = {}
        try:
            self._choose(environ, seen)
        except pynvml.NVMLError as error:
            self.close()
            raise SensorError(f"NVML cannot list the GPUs ({error})") from error
        except BaseException:
            self.close()
            raise

    def _choose(self, environ: Mapping[str, str], seen: Seen | None) -> None:
        gpus = self._list()
        selection = select(gpus, environ, seen)
        self.doubt = selection.doubt
        for gpu in selection.gpus:
            handle = self._handles[gpu.uuid]
            self._devices.append(Device(self._nvml, gpu, handle.own, handle.gpm))
        if not self._devices and gpus and seen is not None and not seen.chosen:
            raise SensorError(f"the framework uses none of the {len(gpus)} GPUs of this machine")
        if not self._devices:
            raise SensorError("no NVIDIA GPU is visible to this process")

    def _list(self) -> list[Gpu]:
        nvml = self._nvml
        found = []
        for index in range(nvml.nvmlDeviceGetCount()):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            gpu = self._known(handle, _Handle(handle, nvml))
            found.append(gpu._replace(instances=self._instances(handle)))
        return found

    def _known(self, own: Any, handle: _Handle) -> Gpu:
        nvml = self._nvml
        gpu = Gpu(_text(nvml.nvmlDeviceGetName(own)), _text(nvml.nvmlDeviceGetUUID(own)))
        self._handles[gpu.uuid] = handle
        return gpu

    def _instances(self, parent: Any) -> tuple[Gpu, ...] | None:
        nvml = self._nvml
        try:
            enabled = nvml.nvmlDeviceGetMigMode(parent)[0] == nvml.NVML_DEVICE_MIG_ENABLE
        except nvml.NVMLError:
            enabled = False
        if not enabled:
            return None
        found = []
        for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
            # Places between instances are empty.
            with contextlib.suppress(nvml.NVMLError_NotFound):
                handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index)
                found.append(self._known(handle, _Handle(handle, nvml, parent)))
        return tuple(found)

    def describe(self) -> dict[str, str]:
        """Name and UUID by tag prefix, for the run's text."""
        return {f"gpu/{i}": f"{d.gpu.name} {d.gpu.uuid}" for i, d in enumerate(self._devices)}

    def unsupported(self) -> dict[str, list[str]]:
        """What was asked and is not supported, by tag prefix; complete after the first sample."""
        return {f"gpu/{i}": sorted(d.unsupported) for i, d in enumerate(self._devices)}

    def memory_total_mib(self) -> float:
        """Memory of the first GPU.

        Raises:
            SensorError: NVML does not tell.
        """
        try:
            return self._devices[0].memory_total_mib()
        except self._nvml.NVMLError as error:
            raise SensorError(f"NVML does not tell the GPU's memory ({error})") from error

    def read(self) -> Values:
        """One sample. What a device does not support is absent.

        Raises:
            SensorError: NVML failed for another reason (driver reset, GPU lost, permission).
        """
        try:
            return {
                f"gpu/{index}/{tag}": value
                for index, device in enumerate(self._devices)
                for tag, value in device.read(self._clock()).items()
            }
        except self._nvml.NVMLError as error:
            raise SensorError(f"NVML stopped answering ({error})") from error

    def close(self) -> None:
        """Frees what NVML gave; safe to call twice."""
        for device in self._devices:
            device.close()
        if not self._closed:
            # NVML counts who started it: once each, or another's use would end.
            self._closed = True
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()


class _Handle:
    """How a GPU, or a MIG instance of `parent`, is asked."""

    def __init__(self, own: Any, nvml: Any, parent: Any = None) -> None:
        self.own, self._nvml, self._parent = own, nvml, parent

    def gpm(self) -> Gpm:
        if self._parent is None:
            return Gpm(self._nvml, self.own)
        return Gpm(self._nvml, self._parent, self._nvml.nvmlDeviceGetGpuInstanceId(self.own))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
