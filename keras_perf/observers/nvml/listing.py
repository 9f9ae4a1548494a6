"""The GPUs of the machine as NVML lists them, and how each is asked."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from keras_perf.observers.nvml.cuda_order import Gpu
from keras_perf.observers.nvml.gpm import Gpm


class Handle:
    """How a GPU, or a MIG instance of `parent`, is asked."""

    def __init__(self, own: Any, nvml: Any, parent: Any = None) -> None:
        self.own, self._nvml, self._parent = own, nvml, parent

    def gpm(self) -> Gpm:
        """Its GPM; raises NVMLError where it has none."""
        if self._parent is None:
            return Gpm(self._nvml, self.own)
        return Gpm(self._nvml, self._parent, self._nvml.nvmlDeviceGetGpuInstanceId(self.own))


class Listing(NamedTuple):
    """What answers."""

    gpus: tuple[Gpu, ...]
    """Whole GPUs with their MIG instances, in the order of their PCI addresses."""
    handles: dict[str, Handle]
    """By UUID, those of instances, too."""
    silent: int
    """GPUs that do not answer, such as lost ones. CUDA may count them or not."""


def list_gpus(nvml: Any) -> Listing:
    """All GPUs that this process may ask.

    Those that a container does not lend are left out: NVML counts them, and CUDA does not.

    Arguments:
        nvml: the pynvml module, started.

    Raises:
        NVMLError: not one answers.
    """
    found: list[Gpu] = []
    handles: dict[str, Handle] = {}
    failures = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            own = nvml.nvmlDeviceGetHandleByIndex(index)
            gpu = _identity(nvml, own)
            instances = _instances(nvml, own, handles)
        except nvml.NVMLError as error:
            failures.append(error)
            continue
        handles[gpu.uuid] = Handle(own, nvml)
        found.append(gpu._replace(instances=instances))
    if failures and not found:
        raise failures[0]
    silent = [error for error in failures if not isinstance(error, nvml.NVMLError_NoPermission)]
    return Listing(tuple(found), handles, len(silent))


def _instances(nvml: Any, parent: Any, handles: dict[str, Handle]) -> tuple[Gpu, ...] | None:
    try:
        enabled = nvml.nvmlDeviceGetMigMode(parent)[0] == nvml.NVML_DEVICE_MIG_ENABLE
    except nvml.NVMLError:
        enabled = False
    if not enabled:
        return None
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
        # Places between instances are empty, and a container may not lend all.
        with contextlib.suppress(nvml.NVMLError_NotFound, nvml.NVMLError_NoPermission):
            own = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index)
            gpu = _identity(nvml, own)
            handles[gpu.uuid] = Handle(own, nvml, parent)
            found.append(gpu)
    return tuple(found)


def _identity(nvml: Any, own: Any) -> Gpu:
    return Gpu(_text(nvml.nvmlDeviceGetName(own)), _text(nvml.nvmlDeviceGetUUID(own)))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
