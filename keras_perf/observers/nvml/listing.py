"""The GPUs of the machine as NVML lists them, and how each is asked."""

from __future__ import annotations

import contextlib
from typing import Any

from keras_perf.observers.nvml.gpm import Gpm


class Gpu:
    """A GPU, or a MIG instance of `parent`.

    Attributes:
        handle: how NVML is asked about it.
        name: of its model.
        uuid: "GPU-…" or "MIG-…"; its handle, where the binding cannot ask.

    Raises:
        NVMLError: it does not answer.
    """

    def __init__(self, nvml: Any, handle: Any, parent: Any = None) -> None:
        self.handle, self._nvml, self._parent = handle, nvml, parent
        self.name = _text(nvml.nvmlDeviceGetName(handle))
        ask = getattr(nvml, "nvmlDeviceGetUUID", repr)
        self.uuid = _text(ask(handle))

    def gpm(self) -> Gpm:
        """Its GPM; raises NVMLError where it has none."""
        if self._parent is None:
            return Gpm(self._nvml, self.handle)
        return Gpm(self._nvml, self._parent, self._nvml.nvmlDeviceGetGpuInstanceId(self.handle))


def list_gpus(nvml: Any) -> dict[str, Gpu]:
    """All that this process may ask, by UUID, in the order of their PCI addresses.

    A GPU in MIG mode is there through its instances only, as in CUDA. What a container does not
    lend, or does not answer, is left out.

    Arguments:
        nvml: the pynvml module, started.

    Raises:
        NVMLError: not one answers.
    """
    found: list[Gpu] = []
    failures = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            found += _instances(nvml, handle) if _is_cut(nvml, handle) else [Gpu(nvml, handle)]
        except nvml.NVMLError as error:
            failures.append(error)
    if failures and not found:
        raise failures[0]
    return {gpu.uuid: gpu for gpu in found}


def _is_cut(nvml: Any, handle: Any) -> bool:
    # AttributeError: the binding is older than MIG.
    with contextlib.suppress(nvml.NVMLError, AttributeError):
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE)
    return False


def _instances(nvml: Any, parent: Any) -> list[Gpu]:
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(parent)):
        # Places between instances are empty, and a container may not lend all.
        with contextlib.suppress(nvml.NVMLError_NotFound, nvml.NVMLError_NoPermission):
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, index)
            found.append(Gpu(nvml, handle, parent))
    return found


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
