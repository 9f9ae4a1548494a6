"""All GPUs of the machine, and whether somebody else computes on them: asked once."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from keras_perf.observers.nvml.binding import absent, known, number_of
from keras_perf.observers.nvml.listing import Gpu, list_gpus


def machine_gpus(*, we_use_one: bool) -> list[dict[str, Any]]:
    """The GPUs as `MachineGpu` has them, in the order of their PCI addresses.

    Returns:
        Nothing where there is no GPU, no driver, or the package nvidia-ml-py is missing.

    Arguments:
        we_use_one: this process computes on one of them, so that NVML has to list it, or does
            not know it by our number and then cannot tell others from us.

    What it cannot see: GPUs that a container was not given.
    """
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return []
    try:
        gpus = list(list_gpus(pynvml).values())
        processes = [_processes(pynvml, gpu) for gpu in gpus]
        listed = not we_use_one or any(os.getpid() in (pids or ()) for pids in processes)
        return [
            {
                "name": gpu.name,
                "utilization_pct": _utilization_pct(pynvml, gpu),
                "other_processes": len(pids - {os.getpid()})
                if listed and pids is not None
                else None,
            }
            for gpu, pids in zip(gpus, processes, strict=True)
        ]
    except pynvml.NVMLError:
        return []
    finally:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def driver_mismatch() -> bool:
    """The driver was updated and the machine not restarted since: nothing can use its GPUs."""
    try:
        import pynvml
    except ImportError:
        return False
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return number_of(error) in known(pynvml, "NVML_ERROR_LIB_RM_VERSION_MISMATCH")
    pynvml.nvmlShutdown()
    return False


def _processes(nvml: Any, gpu: Gpu) -> set[int] | None:
    try:
        return {each.pid for each in nvml.nvmlDeviceGetComputeRunningProcesses(gpu.handle)}
    except (nvml.NVMLError, *absent(nvml)):
        return None


def _utilization_pct(nvml: Any, gpu: Gpu) -> float | None:
    try:
        return float(nvml.nvmlDeviceGetUtilizationRates(gpu.handle).gpu)
    except (nvml.NVMLError, *absent(nvml)):
        # A MIG instance tells none.
        return None
