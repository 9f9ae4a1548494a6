"""NvmlReader on bindings that lack what older ones lack."""

from __future__ import annotations

import sys
import types

import pynvml
import pytest

from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.observers.nvml.machine_gpus import machine_gpus
from keras_perf.observers.nvml.reader import NvmlReader


def binding(monkeypatch, left_out) -> None:
    """The real one without these names."""
    old = types.ModuleType("pynvml")
    old.__dict__.update({k: v for k, v in vars(pynvml).items() if not left_out(k)})
    monkeypatch.setitem(sys.modules, "pynvml", old)


def first_sample(nvml) -> dict[str, object]:
    reader = NvmlReader(print, Seen(0, ()), nvml.cuda)
    try:
        return reader.read()
    finally:
        reader.close()


@pytest.mark.parametrize(
    ("function", "lost"),
    [
        ("nvmlDeviceGetMigMode", set()),
        ("nvmlMemory_v2", set()),
        ("nvmlDeviceGetUUID", set()),
        ("nvmlDeviceGetSamples", set()),
        ("nvmlDeviceGetPersistenceMode", set()),
        ("nvmlDeviceGetCurrentClocksEventReasons", set()),
        ("nvmlDeviceGetPowerUsage", {"gpu/0/power_w"}),
    ],
)
def test_what_a_binding_lacks_costs_at_most_its_own_figure(function, lost, nvml, monkeypatch):
    nvml.add("GPU-1")
    whole = set(first_sample(nvml))
    binding(monkeypatch, lambda name: name == function)
    assert whole - set(first_sample(nvml)) == lost


def test_errors_that_a_binding_does_not_name_are_no_failure(nvml, monkeypatch):
    nvml.add("GPU-1")
    whole = set(first_sample(nvml))
    binding(monkeypatch, lambda name: name.startswith(("NVML_ERROR_", "NVMLError_", "NVMLLib")))
    assert set(first_sample(nvml)) == whole
    assert len(machine_gpus(we_use_one=False)) == 1
