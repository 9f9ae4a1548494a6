"""What NVML tells of all GPUs of the machine, and what `fit` records of those that it lacks."""

from __future__ import annotations

import os

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.facts.machine import gpu_use
from keras_perf.observers.nvml.cuda_order import CudaError
from keras_perf.observers.nvml.machine_gpus import driver_mismatch, machine_gpus

UNKNOWN, LIB_RM_VERSION_MISMATCH = 999, 18


def test_every_gpu_is_told_of_with_those_who_compute_on_it(nvml):
    nvml.set(nvml.add("GPU-1"), utilization=70)
    nvml.set(nvml.add("GPU-2", "NVIDIA A100"), utilization=0)
    nvml.process(os.getpid(), 100)
    nvml.process(os.getpid() + 1, 100)
    assert machine_gpus(we_use_one=True) == [
        {"name": "NVIDIA H200", "utilization_pct": 70.0, "other_processes": 1},
        {"name": "NVIDIA A100", "utilization_pct": 0.0, "other_processes": 0},
    ]


def test_in_a_container_that_numbers_processes_anew_nobody_is_called_another(nvml):
    nvml.set(nvml.add("GPU-1"), utilization=0)
    nvml.process(os.getpid() + 1, 100)
    assert machine_gpus(we_use_one=True)[0]["other_processes"] is None
    assert machine_gpus(we_use_one=False)[0]["other_processes"] == 1


def test_without_gpus_or_driver_there_are_none(nvml):
    assert machine_gpus(we_use_one=False) == []
    nvml.add("GPU-1")
    nvml.fail("nvmlInitWithFlags", UNKNOWN)
    assert machine_gpus(we_use_one=False) == []


@pytest.mark.parametrize(("code", "mismatch"), [(LIB_RM_VERSION_MISMATCH, True), (UNKNOWN, False)])
def test_an_updated_driver_is_told_from_one_that_is_not_there(nvml, code, mismatch):
    assert not driver_mismatch()
    nvml.fail("nvmlInitWithFlags", code)
    assert driver_mismatch() == mismatch


def test_what_one_gpu_does_not_tell_is_missing(nvml):
    nvml.add("GPU-1")
    nvml.fail("nvmlDeviceGetUtilizationRates", UNKNOWN)
    nvml.fail("nvmlDeviceGetComputeRunningProcesses_v3", UNKNOWN)
    (told,) = machine_gpus(we_use_one=False)
    assert told == {"name": "NVIDIA H200", "utilization_pct": None, "other_processes": None}


@pytest.fixture
def diagnosed(tmp_path):
    """The diagnosis of a short training of a model on the CPU."""

    def fit():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        x = np.zeros((64, 4), "float32")
        model.fit(x, x[:, :1], batch_size=1, verbose=0, callbacks=kp.StepGapDetector(tmp_path))
        return kp.diagnose(tmp_path)

    return fit


def test_a_fit_on_the_cpu_beside_a_gpu_says_so_in_its_first_line(nvml, diagnosed, monkeypatch):
    nvml.add("GPU-1")
    monkeypatch.setattr(gpu_use, "cuda_uuids", nvml.cuda)
    first = str(diagnosed()).splitlines()[0]
    assert first.startswith("The GPU of this machine (NVIDIA H200) is not used: ")
    assert nvml.users == 0


def test_a_hidden_gpu_is_named_with_what_hides_it(nvml, diagnosed, monkeypatch):
    nvml.set(nvml.add("GPU-1"), utilization=0)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    monkeypatch.setattr(tf.test, "is_built_with_cuda", lambda: True)

    def none():
        raise CudaError("no libcuda")

    monkeypatch.setattr(gpu_use, "cuda_uuids", none)
    (said,) = diagnosed().alerts
    assert "CUDA_VISIBLE_DEVICES='-1' leaves this process none" in said


def test_on_a_machine_without_a_gpu_nothing_is_said(nvml, diagnosed):
    assert diagnosed().alerts == ()


def test_libraries_that_are_not_loaded_are_missing(tmp_path):
    maps = tmp_path / "maps"
    maps.write_text(
        "".join(f"7f0 r-xp 0 08:01 1 /x/lib{name}.so.12\n" for name in gpu_use.LIBRARIES[:-1])
    )
    assert gpu_use.missing_libraries(maps) == ["cudnn"]
    assert gpu_use.missing_libraries(tmp_path / "none") == []


def test_a_device_is_told_by_its_kind_and_number(monkeypatch):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    assert gpu_use.variables_on(model) is None
    assert gpu_use.operations_on() is None
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind=None: ["a GPU"])
    assert gpu_use.variables_on(model) == {"CPU:0": 2}
    with tf.device("/CPU:0"):
        assert gpu_use.operations_on() == "CPU:0"
