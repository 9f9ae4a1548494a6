"""NVML's GPM: what really ran on a GPU, on Hopper and newer."""

from __future__ import annotations

import contextlib
from typing import Any

from keras_perf.observers.nvml.metric_sources import Source

SHORTEST_S = 0.1
"""Two samples that lie closer together say little."""

METRICS = {
    1: "graphics_active_pct",
    2: "sm_active_pct",
    3: "occupancy_pct",
    5: "tensor_active_pct",
    10: "dram_bandwidth_pct",
    20: "pcie_sent_mib_per_sec",
    21: "pcie_received_mib_per_sec",
    60: "nvlink_received_mib_per_sec",
    61: "nvlink_sent_mib_per_sec",
}
"""Tags by nvmlGpmMetricId_t (nvml.h)."""


class Gpm(Source):
    """Gap-free figures of one device: each sample ends one span and begins the next.

    Arguments:
        nvml: the pynvml module.
        handle: of the GPU; of a MIG instance's GPU.
        instance: id of the MIG instance; None for a whole GPU.

    Raises:
        NVMLError: the device or the driver has no GPM.
    """

    tags = tuple(METRICS.values())
    every_s = SHORTEST_S

    def __init__(self, nvml: Any, handle: Any, instance: int | None = None) -> None:
        super().__init__(nvml, handle)
        self._instance = instance
        self._samples: list[Any] = []
        try:
            if not nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
                raise nvml.NVMLError_NotSupported
            self._samples = [nvml.nvmlGpmSampleAlloc() for _ in range(2)]
            self._take(self._samples[0])
        except BaseException:
            self.close()
            raise

    def _take(self, sample: Any) -> None:
        if self._instance is None:
            self._nvml.nvmlGpmSampleGet(self._handle, sample)
        else:
            self._nvml.nvmlGpmMigSampleGet(self._handle, self._instance, sample)

    def read(self, now: float) -> dict[str, float]:
        """Means since the last call; what the device does not count is absent."""
        nvml = self._nvml
        self._take(self._samples[1])
        query = nvml.c_nvmlGpmMetricsGet_t()
        query.version = nvml.NVML_GPM_METRICS_GET_VERSION
        query.numMetrics = len(METRICS)
        query.sample1, query.sample2 = self._samples
        for slot, metric in enumerate(METRICS):
            query.metrics[slot].metricId = metric
        nvml.nvmlGpmMetricsGet(query)
        self._samples.reverse()
        return {
            METRICS[m.metricId]: float(m.value)
            for m in (query.metrics[slot] for slot in range(len(METRICS)))
            if m.nvmlReturn == nvml.NVML_SUCCESS
        }

    def close(self) -> None:
        """Frees the samples; safe to call twice."""
        for sample in self._samples:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlGpmSampleFree(sample)
        self._samples = []
