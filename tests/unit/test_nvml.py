"""NVML, as far as a fake `pynvml` can play it."""

# ruff: noqa: N802  NVML's names

from __future__ import annotations

import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from keras_perf.observers.nvml import NvmlReader, SensorError
from keras_perf.records.metrics import GPU_METRICS

MIB = 1024 * 1024

GPM_TAGS = ("sm_active_pct", "tensor_active_pct", "dram_bandwidth_pct")

ALL = {
    "utilization_pct": 90.0,
    "memory_utilization_pct": 40.0,
    "memory_used_mib": 1000.0,
    "power_w": 312.5,
    "temperature_c": 61.0,
    "sm_clock_mhz": 1980.0,
}


class FakeNvml:
    """Three GPUs, whose handles are their UUIDs; all calls are counted, any can be broken."""

    NVML_TEMPERATURE_GPU = 0
    NVML_CLOCK_SM = 1

    def __init__(self, *, gpm: bool = False) -> None:
        self.NVMLError = type("NVMLError", (Exception,), {})
        for name in ("NotSupported", "InvalidArgument", "NotFound", "GpuIsLost", "NoPermission"):
            error = type(f"NVMLError_{name}", (self.NVMLError,), {})
            setattr(self, f"NVMLError_{name}", error)
        self.uuids = ["GPU-aaa", "GPU-bbb", "GPU-ccc"]
        self.calls: Counter[str] = Counter()
        self.broken: dict[str, Exception] = {}
        self.samples: list[SimpleNamespace] = []
        for answer in dir(self):
            name = answer.removeprefix("answer_")
            if name != answer and (gpm or not name.startswith("nvmlGpm")):
                setattr(self, name, self._counted(name, getattr(self, answer)))
        if gpm:
            self.NVML_SUCCESS = 0
            self.NVML_GPM_METRICS_GET_VERSION = 1
            self.c_nvmlGpmMetricsGet_t = lambda: SimpleNamespace(
                metrics=[SimpleNamespace(nvmlReturn=0, value=0.0) for _ in range(8)]
            )

    def _counted(self, name: str, answer: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            if name in self.broken:
                raise self.broken[name]
            return answer(*arguments)

        return call

    def answer_nvmlInit(self) -> None:
        pass

    def answer_nvmlShutdown(self) -> None:
        pass

    def answer_nvmlDeviceGetCount(self) -> int:
        return len(self.uuids)

    def answer_nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        if index >= len(self.uuids):
            raise self.NVMLError_InvalidArgument("Invalid Argument")
        return self.uuids[index]

    def answer_nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        if uuid not in self.uuids:
            raise self.NVMLError_NotFound("Not Found")
        return uuid

    def answer_nvmlDeviceGetName(self, handle: str) -> bytes:
        return b"NVIDIA H200"

    def answer_nvmlDeviceGetUUID(self, handle: str) -> str:
        return handle

    def answer_nvmlDeviceGetUtilizationRates(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(gpu=90, memory=40)

    def answer_nvmlDeviceGetMemoryInfo(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(used=1000 * MIB)

    def answer_nvmlDeviceGetPowerUsage(self, handle: str) -> int:
        return 312_500

    def answer_nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        assert sensor == self.NVML_TEMPERATURE_GPU
        return 61

    def answer_nvmlDeviceGetClockInfo(self, handle: str, clock: int) -> int:
        assert clock == self.NVML_CLOCK_SM
        return 1980

    def answer_nvmlGpmQueryDeviceSupport(self, handle: str) -> SimpleNamespace:
        return SimpleNamespace(isSupportedDevice=1)

    def answer_nvmlGpmSampleAlloc(self) -> SimpleNamespace:
        self.samples.append(SimpleNamespace(taken=None, freed=0))
        return self.samples[-1]

    def answer_nvmlGpmSampleFree(self, sample: SimpleNamespace) -> None:
        sample.freed += 1

    def answer_nvmlGpmSampleGet(self, handle: str, sample: SimpleNamespace) -> None:
        sample.taken = self.calls["nvmlGpmSampleGet"]

    def answer_nvmlGpmMetricsGet(self, query: SimpleNamespace) -> None:
        """Each value says the metric and the span: id + begin / 10 + end / 100."""
        for metric in query.metrics[: query.numMetrics]:
            metric.value = metric.metricId + query.sample1.taken / 10 + query.sample2.taken / 100


@pytest.fixture
def nvml(monkeypatch) -> FakeNvml:
    module = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


@pytest.fixture
def hopper(monkeypatch) -> FakeNvml:
    module = FakeNvml(gpm=True)
    module.uuids = ["GPU-aaa"]
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


def seen(visible: str | None) -> list[str]:
    """UUIDs of the GPUs that are read, in their order."""
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    reader = NvmlReader(environ)
    uuids = [name.split()[-1] for name in reader.describe().values()]
    reader.close()
    return uuids


# -- is there anything to read -----------------------------------------------------------


def test_without_the_package_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(SensorError, match="nvidia-ml-py is not installed"):
        NvmlReader({})


def test_without_a_driver_the_error_says_what_nvml_says(nvml):
    nvml.broken["nvmlInit"] = nvml.NVMLError("NVML Shared Library Not Found")
    with pytest.raises(SensorError, match=r"does not start \(NVML Shared Library Not Found\)"):
        NvmlReader({})
    assert nvml.calls["nvmlShutdown"] == 0


def test_without_a_gpu_the_error_says_so_and_nvml_is_shut_down(nvml):
    nvml.uuids = []
    with pytest.raises(SensorError, match="no NVIDIA GPU is visible"):
        NvmlReader({})
    assert nvml.calls["nvmlShutdown"] == 1


def test_gpus_that_cannot_be_listed_are_an_error_and_nvml_is_shut_down(nvml):
    nvml.broken["nvmlDeviceGetCount"] = nvml.NVMLError_NoPermission("Insufficient Permissions")
    with pytest.raises(SensorError, match="cannot list the GPUs"):
        NvmlReader({})
    assert nvml.calls["nvmlShutdown"] == 1


# -- which GPUs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (None, ["GPU-aaa", "GPU-bbb", "GPU-ccc"]),
        ("1", ["GPU-bbb"]),
        ("2,0", ["GPU-ccc", "GPU-aaa"]),
        (" 2 , 0 ", ["GPU-ccc", "GPU-aaa"]),
        ("GPU-ccc,GPU-aaa", ["GPU-ccc", "GPU-aaa"]),
        ("1,-1,0", ["GPU-bbb"]),
        ("1,7,0", ["GPU-bbb"]),
        ("GPU-bbb,GPU-xyz,GPU-aaa", ["GPU-bbb"]),
        ("0,,1", ["GPU-aaa"]),
    ],
)
def test_cuda_visible_devices_chooses_the_gpus_as_cuda_reads_it(nvml, visible, uuids):
    assert seen(visible) == uuids


@pytest.mark.parametrize("visible", ["", "-1", "NoDevFiles", "7"])
def test_a_process_that_sees_no_gpu_has_none_to_read(nvml, visible):
    with pytest.raises(SensorError, match="no NVIDIA GPU is visible"):
        NvmlReader({"CUDA_VISIBLE_DEVICES": visible})


def test_a_gpu_is_described_by_name_and_uuid(nvml):
    assert NvmlReader({"CUDA_VISIBLE_DEVICES": "1"}).describe() == {"gpu/0": "NVIDIA H200 GPU-bbb"}


def test_a_gpu_lost_while_it_is_described_is_a_sensor_error(nvml):
    reader = NvmlReader({})
    nvml.broken["nvmlDeviceGetUUID"] = nvml.NVMLError_GpuIsLost("GPU is lost")
    with pytest.raises(SensorError, match="GPU is lost"):
        reader.describe()


# -- reading -----------------------------------------------------------------------------


def test_a_sample_has_the_units_of_its_tags_under_tensorflows_index(nvml):
    reader = NvmlReader({"CUDA_VISIBLE_DEVICES": "2,0"})
    assert reader.read() == {f"gpu/{i}/{tag}": value for i in (0, 1) for tag, value in ALL.items()}


def test_what_a_gpu_does_not_support_is_absent_and_asked_for_once(nvml):
    nvml.broken["nvmlDeviceGetPowerUsage"] = nvml.NVMLError_NotSupported("Not Supported")
    reader = NvmlReader({"CUDA_VISIBLE_DEVICES": "0"})
    expected = {f"gpu/0/{tag}" for tag in ALL if tag != "power_w"}
    assert [set(reader.read()) for _ in range(3)] == [expected] * 3
    assert nvml.calls["nvmlDeviceGetPowerUsage"] == 1


def test_what_one_gpu_does_not_support_is_still_read_from_the_others(nvml):
    plain = nvml.nvmlDeviceGetPowerUsage

    def only_the_second(handle: str) -> int:
        if handle == "GPU-aaa":
            raise nvml.NVMLError_NotSupported("Not Supported")
        return plain(handle)

    nvml.nvmlDeviceGetPowerUsage = only_the_second
    reader = NvmlReader({"CUDA_VISIBLE_DEVICES": "0,1"})
    reader.read()
    assert {tag for tag in reader.read() if "power" in tag} == {"gpu/1/power_w"}


def test_a_failure_in_the_middle_of_a_run_is_a_sensor_error_that_names_it(nvml):
    reader = NvmlReader({})
    reader.read()
    nvml.broken["nvmlDeviceGetTemperature"] = nvml.NVMLError_GpuIsLost("GPU is lost")
    with pytest.raises(SensorError, match=r"stopped answering \(GPU is lost\)"):
        reader.read()


def test_every_gpu_metric_is_read_on_hopper(hopper):
    tags = {tag.replace("gpu/0/", "gpu/<i>/") for tag in NvmlReader({}).read()}
    assert tags == {metric.tag for metric in GPU_METRICS}


# -- GPM ---------------------------------------------------------------------------------


def test_each_gpm_reading_begins_where_the_last_one_ended(hopper):
    reader = NvmlReader({})
    readings = [reader.read() for _ in range(3)]
    assert [[reading[f"gpu/0/{tag}"] for tag in GPM_TAGS] for reading in readings] == [
        [pytest.approx(metric + begin / 10 + (begin + 1) / 100) for metric in (2, 5, 10)]
        for begin in (1, 2, 3)
    ]


def test_a_gpm_metric_that_is_not_valid_is_absent(hopper):
    valid = hopper.nvmlGpmMetricsGet

    def without_tensor_cores(query: SimpleNamespace) -> None:
        valid(query)
        query.metrics[1].nvmlReturn = 3

    hopper.nvmlGpmMetricsGet = without_tensor_cores
    reading = NvmlReader({}).read()
    assert "gpu/0/tensor_active_pct" not in reading
    assert "gpu/0/sm_active_pct" in reading


@pytest.mark.parametrize("name", ["nvmlGpmQueryDeviceSupport", "nvmlGpmSampleGet"])
def test_a_gpm_that_does_not_start_is_left_out(hopper, name):
    hopper.broken[name] = hopper.NVMLError_NotSupported("Not Supported")
    assert set(NvmlReader({}).read()) == {f"gpu/0/{tag}" for tag in ALL}
    assert [sample.freed for sample in hopper.samples] == [1] * len(hopper.samples)


def test_a_gpu_that_says_it_has_no_gpm_is_read_without(hopper):
    hopper.nvmlGpmQueryDeviceSupport = lambda handle: SimpleNamespace(isSupportedDevice=0)
    assert set(NvmlReader({}).read()) == {f"gpu/0/{tag}" for tag in ALL}


# -- the end -----------------------------------------------------------------------------


def test_closing_frees_what_gpm_took_and_shuts_nvml_down(hopper):
    reader = NvmlReader({})
    reader.close()
    assert [sample.freed for sample in hopper.samples] == [1, 1]
    assert hopper.calls["nvmlShutdown"] == 1


def test_closing_twice_takes_nvml_from_nobody_else(hopper):
    # NVML counts its users: a second shutdown would be that of another one in this process.
    reader = NvmlReader({})
    reader.close()
    reader.close()
    assert [sample.freed for sample in hopper.samples] == [1, 1]
    assert hopper.calls["nvmlShutdown"] == 1


def test_a_driver_that_is_gone_does_not_keep_the_reader_from_closing(hopper):
    reader = NvmlReader({})
    hopper.broken["nvmlShutdown"] = hopper.NVMLError("Uninitialized")
    hopper.broken["nvmlGpmSampleFree"] = hopper.NVMLError("Uninitialized")
    reader.close()


def test_the_fake_plays_nothing_that_the_real_module_has_not():
    real = pytest.importorskip("pynvml")
    fake = {
        name
        for name in vars(FakeNvml(gpm=True)) | vars(FakeNvml)
        if name.lower().startswith(("nvml", "c_nvml"))
    }
    assert len(fake) > 20
    assert not [name for name in fake if not hasattr(real, name)]
