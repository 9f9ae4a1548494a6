"""NvmlReader through the real binding: its structures, its units, its errors."""

from __future__ import annotations

import contextlib
import os

import pytest

from keras_perf.observers.nvml.cuda_order import CudaError, Seen
from keras_perf.observers.nvml.reader import NvmlReader
from keras_perf.observers.sensors.sensor import AbsentError, SensorError
from keras_perf.records.metrics.gpu_metrics import SAMPLED

NOT_SUPPORTED, NOT_FOUND, FUNCTION_NOT_FOUND, GPU_IS_LOST, NO_PERMISSION = 3, 6, 13, 15, 4
UNKNOWN = 999

PLAIN = {
    "utilization_pct": 90.0,
    "memory_used_mib": 1000.0,
    "power_w": 312.5,
    "temperature_c": 61.0,
    "sm_clock_mhz": 1980.0,
    "throttled_power_cap_pct": 0.0,
    "throttled_thermal_pct": 0.0,
    "throttled_power_brake_pct": 0.0,
    "throttled_hardware_pct": 0.0,
    "pcie_lanes": 16.0,
    "pcie_max_lanes": 16.0,
    "pcie_generation": 5.0,
    "pcie_max_generation": 5.0,
    "pcie_sent_mib_per_sec": 2.0,
    "pcie_received_mib_per_sec": 1.0,
}

GPM = {
    "graphics_active_pct": 1.0,
    "sm_active_pct": 2.0,
    "occupancy_pct": 3.0,
    "tensor_active_pct": 5.0,
    "dram_bandwidth_pct": 10.0,
    "pcie_sent_mib_per_sec": 20.0,
    "pcie_received_mib_per_sec": 21.0,
    "nvlink_received_mib_per_sec": 60.0,
    "nvlink_sent_mib_per_sec": 61.0,
}


class Clock:
    """Moves on by a second with each look."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step = 100.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def opened(nvml):
    """Opens readers, and closes them all at the end."""
    with contextlib.ExitStack() as stack:

        def open_reader(seen=None, cuda=nvml.cuda, clock=None, warn=print) -> NvmlReader:
            reader = NvmlReader(warn, seen, cuda, clock or Clock())
            stack.callback(reader.close)
            return reader

        yield open_reader


def values_of(reader: NvmlReader, gpu: int = 0) -> dict[str, object]:
    prefix = f"gpu/{gpu}/"
    return {
        tag.removeprefix(prefix): value
        for tag, value in reader.read().items()
        if tag.startswith(prefix)
    }


# -- which GPUs --------------------------------------------------------------------------


def three(nvml):
    for uuid in ("GPU-aaa-1", "GPU-aab-2", "GPU-ccc-3"):
        nvml.add(uuid)


def test_the_gpus_are_those_that_cuda_shows_in_its_order(nvml, opened):
    three(nvml)
    reader = opened(cuda=lambda: ("ccc-3", "aaa-1"))
    assert reader.describe() == {
        "gpu/0": "NVIDIA H200 GPU-ccc-3",
        "gpu/1": "NVIDIA H200 GPU-aaa-1",
    }
    assert reader.doubt == ""


def test_what_tensorflow_leaves_out_is_left_out(nvml, opened):
    three(nvml)
    reader = opened(seen=Seen(3, (2,)))
    assert reader.describe() == {"gpu/0": "NVIDIA H200 GPU-ccc-3"}
    assert reader.doubt == ""


def test_where_a_framework_uses_no_gpu_all_are_read_and_cuda_is_not_asked(nvml, opened):
    three(nvml)
    reader = opened(seen=Seen(0, ()), cuda=None)
    assert list(reader.describe()) == ["gpu/0", "gpu/1", "gpu/2"]
    assert "uses no GPU" in reader.doubt
    assert reader.unused
    assert values_of(reader)["utilization_pct"] == 90.0


def test_a_mig_instance_is_found_by_its_id_and_has_what_instances_have(nvml, opened):
    parent = nvml.add("GPU-1")
    nvml.add("MIG-1", "NVIDIA H200 MIG 1g.18gb", parent=parent, instance=7)
    nvml.add("MIG-2", "NVIDIA H200 MIG 1g.18gb", parent=parent, instance=8)
    nvml.set(parent, has_gpm=1)
    nvml.gpm(2, 33.0, device=2)
    reader = opened(cuda=lambda: ("2",))
    assert reader.describe() == {"gpu/0": "NVIDIA H200 MIG 1g.18gb MIG-2"}
    found = values_of(reader)
    assert "utilization_pct" not in found
    assert (found["memory_used_mib"], found["sm_active_pct"]) == (1000.0, 33.0)


def test_where_cuda_cannot_be_asked_every_gpu_and_instance_is_read(nvml, opened):
    nvml.add("MIG-2", parent=nvml.add("GPU-1"), instance=7)
    nvml.add("GPU-3")

    def fails():
        raise CudaError("there is no libcuda")

    reader = opened(cuda=fails)
    assert [words.split()[-1] for words in reader.describe().values()] == ["MIG-2", "GPU-3"]
    assert "all GPUs of the machine are sampled" in reader.doubt


def test_where_cuda_shows_no_gpu_none_is_read(nvml):
    nvml.add("GPU-1")
    with pytest.raises(SensorError, match="no NVIDIA GPU is visible"):
        NvmlReader(print, cuda=lambda: ())


# -- what is read ------------------------------------------------------------------------


def test_a_gpu_without_gpm_tells_these_in_these_units(nvml, opened):
    nvml.add("GPU-1")
    nvml.process(os.getpid(), 900)
    nvml.process(1, 50)
    told = {
        "process_memory_used_mib": 900.0,
        "other_processes": 1.0,
        "other_memory_used_mib": 50.0,
    }
    assert values_of(opened()) == PLAIN | told


def test_a_driver_before_510_counts_what_it_keeps_for_itself(nvml, opened):
    nvml.add("GPU-1")
    nvml.fail("nvmlDeviceGetMemoryInfo_v2", FUNCTION_NOT_FOUND)
    assert values_of(opened())["memory_used_mib"] == 1000.0 + 600.0


def test_a_gpu_with_gpm_tells_more(nvml, opened):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    assert values_of(opened()) == PLAIN | GPM


def test_every_sampled_metric_of_the_table_is_read(nvml, opened):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    nvml.process(os.getpid(), 900)
    reader = opened()
    reader.read()
    nvml.set(energy_mj=1000)
    reader._devices[0]._due.clear()
    assert set(values_of(reader)) == {metric.tag.rpartition("/")[2] for metric in SAMPLED}


def test_gpm_leaves_no_time_out_and_counts_none_twice(nvml, opened):
    # The stand-in refuses a span that does not follow the one before.
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    reader = opened()
    for percent in (10.0, 20.0, 30.0):
        nvml.gpm(2, percent)
        assert values_of(reader)["sm_active_pct"] == percent


def test_gpm_is_not_asked_more_often_than_nvml_allows(nvml, opened):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    reader = opened(clock=Clock(0.0625))
    assert ["sm_active_pct" in values_of(reader) for _ in range(5)] == [
        True,
        False,
        True,
        False,
        True,
    ]


def test_a_gpm_metric_that_the_device_lacks_is_absent(nvml, opened):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    nvml.gpm(60, -1.0)
    found = values_of(opened())
    assert "nvlink_received_mib_per_sec" not in found
    assert "sm_active_pct" in found


def test_power_from_the_energy_counter_is_exact(nvml, opened):
    nvml.add("GPU-1")
    nvml.set(energy_mj=1_000_000)
    reader = opened()
    assert "mean_power_w" not in values_of(reader)
    nvml.set(energy_mj=1_500_000)
    assert values_of(reader)["mean_power_w"] == 500.0


def test_a_counter_that_begins_anew_is_not_taken_for_negative_energy(nvml, opened):
    nvml.add("GPU-1")
    nvml.set(energy_mj=1_000_000)
    reader = opened()
    reader.read()
    nvml.set(energy_mj=0)
    assert "mean_power_w" not in values_of(reader)
    nvml.set(energy_mj=100_000)
    assert values_of(reader)["mean_power_w"] == 100.0


def test_the_drivers_buffer_is_used_where_it_is_denser(nvml, opened):
    nvml.add("GPU-1")
    nvml.buffer(1, 2, 3)
    reader = opened()
    nvml.buffer(0, 100, 20)
    # What was buffered before us is not ours.
    assert values_of(reader)["utilization_pct"] == [0.0, 100.0, 20.0]
    nvml.buffer(55)
    assert values_of(reader)["utilization_pct"] == 90.0
    assert values_of(reader)["utilization_pct"] == 90.0


def test_reasons_of_throttling_are_told_apart(nvml, opened):
    nvml.add("GPU-1")
    found = []
    for reasons in (0x4, 0x20, 0x40 | 0x8, 0x80 | 0x8, 0x1):
        nvml.set(reasons=reasons)
        values = values_of(opened())
        found.append([n for n in values if n.startswith("throttled") and values[n]])
    assert found == [
        ["throttled_power_cap_pct"],
        ["throttled_thermal_pct"],
        ["throttled_thermal_pct", "throttled_hardware_pct"],
        ["throttled_power_brake_pct", "throttled_hardware_pct"],
        [],
    ]


def test_without_our_own_number_nothing_is_said_of_processes(nvml, opened):
    nvml.add("GPU-1")
    nvml.process(1, 50)
    assert "other_processes" not in values_of(opened())


def test_memory_that_the_driver_keeps_to_itself_is_absent(nvml, opened):
    nvml.add("GPU-1")
    nvml.process(os.getpid(), None)
    found = values_of(opened())
    assert found["other_processes"] == 0.0
    assert "process_memory_used_mib" not in found


# -- what is not there -------------------------------------------------------------------


@pytest.mark.parametrize("code", [NOT_SUPPORTED, FUNCTION_NOT_FOUND])
@pytest.mark.parametrize(
    ("function", "tags"),
    [
        ("nvmlDeviceGetPowerUsage", ["power_w"]),
        (
            "nvmlDeviceGetComputeRunningProcesses_v3",
            ["other_memory_used_mib", "other_processes", "process_memory_used_mib"],
        ),
        ("nvmlDeviceGetTotalEnergyConsumption", ["mean_power_w"]),
    ],
)
def test_what_a_device_does_not_support_is_absent_and_named(nvml, opened, function, tags, code):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    nvml.fail(function, code)
    reader = opened()
    assert not set(values_of(reader)) & set(tags)
    assert reader.unsupported() == {"gpu/0": tags}


def test_a_driver_without_a_buffer_is_polled(nvml, opened):
    nvml.add("GPU-1")
    nvml.fail("nvmlDeviceGetSamples", NOT_SUPPORTED)
    assert values_of(opened())["utilization_pct"] == 90.0


def test_a_driver_that_does_not_start_is_said_in_nvmls_words(nvml):
    nvml.fail("nvmlInitWithFlags", 999)
    with pytest.raises(SensorError, match="does not start"):
        NvmlReader(print)


def test_a_machine_without_a_driver_is_said_to_have_none(nvml):
    nvml.fail("nvmlInitWithFlags", 9)
    with pytest.raises(AbsentError, match="no NVIDIA driver is visible to this process"):
        NvmlReader(print)


def test_no_gpu_at_all_is_an_error_that_leaves_nothing_behind(nvml):
    with pytest.raises(SensorError, match="no NVIDIA GPU"):
        NvmlReader(print)


@pytest.mark.parametrize("function", ["nvmlDeviceGetCount_v2", "nvmlDeviceGetUUID"])
def test_gpus_that_cannot_be_listed_are_an_error_that_leaves_nothing_behind(nvml, function):
    nvml.add("GPU-1")
    nvml.fail(function, NO_PERMISSION)
    with pytest.raises(SensorError, match="cannot list the GPUs"):
        NvmlReader(print)


# -- what fails in the middle ------------------------------------------------------------


def two(nvml) -> None:
    for uuid in ("GPU-1", "GPU-2"):
        nvml.set(nvml.add(uuid), has_gpm=1)


@pytest.mark.parametrize("function", ["nvmlDeviceGetTemperature", "*"])
def test_a_gpu_lost_in_the_middle_is_named_once_and_the_others_go_on(nvml, opened, function):
    two(nvml)
    said: list[str] = []
    reader = opened(clock=Clock(0.25), warn=said.append)
    reader.read()
    nvml.fail(function, GPU_IS_LOST, device=0)
    for _ in range(40):
        assert {tag[:5] for tag in reader.read()} == {"gpu/1"}
    assert said == [
        "keras_perf: NVML stopped answering (GPU is lost) for gpu/0 NVIDIA H200 GPU-1; these "
        "values are missing until it answers again."
    ]


def test_a_gpu_that_comes_back_has_its_own_number_again(nvml, opened):
    two(nvml)
    nvml.set(0, utilization=11)
    reader = opened(clock=Clock(0.25))
    nvml.fail("*", GPU_IS_LOST, device=0)
    reader.read()
    nvml.heal()
    after = [reader.read().get("gpu/0/utilization_pct") for _ in range(10)]
    assert after[0] is None
    assert after[-1] == 11.0
    assert reader.read()["gpu/1/utilization_pct"] == 90.0
    assert nvml.users == 2


def test_a_gpu_that_comes_back_alone_does_not_take_anothers_number(nvml, opened):
    two(nvml)
    reader = opened(clock=Clock())
    nvml.restart()
    reader.read()
    nvml.fail("nvmlDeviceGetHandleByIndex_v2", GPU_IS_LOST, device=0)
    for _ in range(10):
        found = {tag[:5] for tag in reader.read()}
    assert found == {"gpu/1"}
    assert reader.describe()["gpu/0"] == "NVIDIA H200 GPU-1"


def test_a_driver_that_stops_is_one_line_and_nvml_is_started_anew(nvml, opened):
    two(nvml)
    said: list[str] = []
    reader = opened(clock=Clock(), warn=said.append)
    nvml.restart()
    assert reader.read() == {}
    assert len(said) == 1
    assert "(Uninitialized) for gpu/0 NVIDIA H200 GPU-1, gpu/1 NVIDIA H200 GPU-2;" in said[0]
    assert nvml.users == 0
    found = [{tag[:5] for tag in reader.read()} for _ in range(3)]
    assert found[-1] == {"gpu/0", "gpu/1"}
    assert len(said) == 1


@pytest.mark.parametrize("code", [UNKNOWN, NO_PERMISSION])
@pytest.mark.parametrize(
    ("function", "tags"),
    [
        ("nvmlDeviceGetPowerUsage", ["power_w"]),
        ("nvmlGpmMetricsGet", list(GPM)),
        ("nvmlDeviceGetUtilizationRates", ["utilization_pct"]),
    ],
)
def test_a_question_that_fails_by_itself_costs_its_own_values(nvml, opened, function, tags, code):
    two(nvml)
    said: list[str] = []
    reader = opened(clock=Clock(), warn=said.append)
    whole = set(values_of(reader)) | {"mean_power_w"}
    nvml.fail(function, code)
    slow = {tag for tag in whole if tag.startswith("pcie_") and tag not in GPM}
    assert whole - set(tags) - slow <= set(values_of(reader)) <= whole - set(tags)
    for _ in range(20):
        reader.read()
    assert len(said) == 1
    assert all(f"gpu/{index}/{tag}" in said[0] for index in (0, 1) for tag in tags)
    assert reader.unsupported() == {"gpu/0": [], "gpu/1": []}
    nvml.heal()
    found: set[str] = set()
    for _ in range(70):
        found |= set(values_of(reader))
    assert set(tags) <= found
    assert len(said) == 1


def test_a_question_that_fails_is_asked_less_and_less_often(nvml, opened):
    nvml.add("GPU-1")
    reader = opened(clock=Clock())
    nvml.fail("nvmlDeviceGetPowerUsage", UNKNOWN)
    asked = []
    for second in range(40):
        before = nvml.failed_calls
        reader.read()
        if nvml.failed_calls > before:
            asked.append(second)
    assert asked == [0, 1, 3, 7, 15, 31]


def test_gpm_that_failed_for_a_while_leaves_no_time_out(nvml, opened):
    # The stand-in refuses a span that does not follow the one before.
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    reader = opened()
    nvml.fail("nvmlGpmSampleGet", UNKNOWN)
    assert "sm_active_pct" not in values_of(reader)
    nvml.heal()
    assert "sm_active_pct" in values_of(reader)


# -- GPUs that are not ours --------------------------------------------------------------


def test_gpus_that_a_container_does_not_lend_are_left_out(nvml, opened):
    # NVML counts them, and refuses their handles; CUDA does not show them.
    three(nvml)
    nvml.fail("nvmlDeviceGetHandleByIndex_v2", NO_PERMISSION, device=0)
    reader = opened(cuda=lambda: ("aab-2", "ccc-3"))
    assert reader.describe()["gpu/0"] == "NVIDIA H200 GPU-aab-2"
    assert reader.doubt == ""


def test_a_gpu_that_was_lost_before_is_named_and_the_others_keep_their_numbers(nvml, opened):
    three(nvml)
    nvml.fail("nvmlDeviceGetHandleByIndex_v2", GPU_IS_LOST, device=1)
    reader = opened()
    assert reader.describe() == {
        "gpu/0": "NVIDIA H200 GPU-aaa-1",
        "gpu/2": "NVIDIA H200 GPU-ccc-3",
    }
    assert reader.doubt == "NVML does not list gpu/1: its figures are missing"
    assert values_of(reader, 2)["utilization_pct"] == 90.0


@pytest.mark.parametrize("code", [NOT_SUPPORTED, FUNCTION_NOT_FOUND, NO_PERMISSION])
def test_persistence_mode_is_told_where_the_driver_tells(nvml, opened, code):
    nvml.add("GPU-1")
    nvml.set(nvml.add("GPU-2"), persistence=0)
    assert opened().persistence() == {"gpu/0": True, "gpu/1": False}
    nvml.fail("nvmlDeviceGetPersistenceMode", code, device=0)
    assert opened().persistence() == {"gpu/1": False}


def test_a_mig_instance_has_no_persistence_mode(nvml, opened):
    nvml.add("MIG-1", parent=nvml.add("GPU-1"), instance=7)
    assert opened().persistence() == {}


def test_closing_twice_takes_nvml_from_nobody_else(nvml, opened):
    nvml.add("GPU-1")
    other, reader = opened(), opened()
    reader.close()
    reader.close()
    assert nvml.users == 1
    assert values_of(other)["utilization_pct"] == 90.0
