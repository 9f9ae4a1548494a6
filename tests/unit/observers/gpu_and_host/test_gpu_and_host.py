"""Energy of an interval, and what is said of GPUs that are there or not."""

from __future__ import annotations

import warnings

import pytest

from keras_perf.observers import gpu_and_host
from keras_perf.observers.gpu_and_host import GpuHostSampler, energy
from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.observers.sensors.sensor import AbsentError, SensorError
from keras_perf.records.run.run_facts import GpuFacts
from keras_perf.report.text.text_tab import gpus_markdown

WATTS = {"gpu/0/mean_power_w": 200.0, "gpu/1/mean_power_w": 100.0, "gpu/0/power_w": 1.0}


def test_energy_is_power_times_training_time_for_each_gpu():
    assert energy(WATTS, 0.5, 10, 8.0) == {
        "gpu/0/energy_j": 100.0,
        "gpu/0/energy_per_step_j": 10.0,
        "gpu/0/energy_per_example_j": 1.25,
        "gpu/1/energy_j": 50.0,
        "gpu/1/energy_per_step_j": 5.0,
        "gpu/1/energy_per_example_j": 0.625,
    }


@pytest.mark.parametrize(
    ("steps", "examples", "left"),
    [(0, 8.0, {"gpu/0/energy_j"}), (10, None, {"gpu/0/energy_j", "gpu/0/energy_per_step_j"})],
)
def test_what_is_not_known_is_left_out(steps, examples, left):
    assert set(energy({"gpu/0/mean_power_w": 200.0}, 0.5, steps, examples)) == left


def test_power_of_validation_is_none_of_a_step():
    assert energy({"gpu/0/validation_mean_power_w": 200.0}, 0.5, 10, 8.0) == {}


class Gpus:
    """Two, one of which tells less."""

    doubt, unused = "their order is doubtful", False

    def __init__(self, warn, seen) -> None:
        pass

    def describe(self):
        return {"gpu/0": "NVIDIA T4 GPU-1", "gpu/1": "NVIDIA H200 GPU-2"}

    def unsupported(self):
        return {"gpu/0": ["occupancy_pct", "sm_active_pct"], "gpu/1": []}

    def persistence(self):
        return {"gpu/1": False}

    def memory_total_mib(self):
        raise SensorError("NVML does not tell the GPU's memory")

    def read(self):
        return {}

    def close(self) -> None:
        pass


def watched(monkeypatch, reader, seen=None, absent=print) -> tuple[GpuHostSampler, list[str]]:
    """Not longer than it takes to look at it."""
    monkeypatch.setattr(gpu_and_host, "NvmlReader", reader)
    said: list[str] = []
    watch = GpuHostSampler(10.0, said.append, seen, absent=absent)
    watch.stop()
    return watch, said


def test_gpus_are_described_and_doubts_are_said(monkeypatch):
    watch, said = watched(monkeypatch, Gpus)
    assert watch.facts == GpuFacts(
        gpus={"gpu/0": "NVIDIA T4 GPU-1", "gpu/1": "NVIDIA H200 GPU-2"},
        gpu_persistence={"gpu/1": False},
    )
    assert said == ["keras_perf: their order is doubtful."]
    assert gpus_markdown(watch.gpus()).splitlines()[2:] == [
        "| gpu/0 | NVIDIA T4 GPU-1 | occupancy_pct, sm_active_pct |",
        "| gpu/1 | NVIDIA H200 GPU-2 | – |",
    ]


WITHOUT = "keras_perf: no NVIDIA driver is visible to this process, so CPU and memory are sampled "
WITHOUT += "without a GPU."


def no_driver(warn, seen):
    raise AbsentError("no NVIDIA driver is visible to this process")


@pytest.mark.parametrize("seen", [None, Seen(0, ())])
def test_a_machine_without_a_gpu_is_no_failure(seen, monkeypatch):
    told: list[str] = []
    watch, said = watched(monkeypatch, no_driver, seen, told.append)
    assert (said, told) == ([], [WITHOUT])
    assert (watch.facts, watch.gpus()) == (GpuFacts(), [])


@pytest.mark.parametrize("visible", [1, None], ids=["TensorFlow", "JAX"])
def test_a_gpu_that_the_framework_has_and_nvml_lacks_is_warned_of(visible, monkeypatch):
    _, said = watched(monkeypatch, no_driver, Seen(visible, (0,)))
    assert said == [WITHOUT]


def test_a_driver_that_does_not_answer_is_warned_of(monkeypatch):
    def broken(warn, seen):
        raise SensorError("NVML does not start (Driver/library version mismatch)")

    watch, said = watched(monkeypatch, broken, Seen(0, ()))
    assert said == [
        "keras_perf: NVML does not start (Driver/library version mismatch), so CPU and memory are "
        "sampled without a GPU."
    ]
    assert (watch.facts, watch.gpus()) == (GpuFacts(), [])


def test_a_binding_that_is_not_nvidias_costs_the_gpu_figures_only(monkeypatch):
    def foreign(warn, seen):
        raise AttributeError("module 'pynvml' has no attribute 'nvmlInit'")

    _, said = watched(monkeypatch, foreign)
    assert len(said) == 1
    assert "has no attribute 'nvmlInit'" in said[0]
    assert "CPU and memory are sampled" in said[0]


@pytest.mark.fault(2, "a question to NVML that fails")
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("describe", "gpus"),
        ("persistence", "gpu_persistence"),
        ("memory_total_mib", "gpu_memory_total_mib"),
    ],
)
def test_a_question_to_nvml_that_fails_costs_its_own_answer(question, name, monkeypatch):
    def fails(self):
        raise TypeError("no string")

    answers = {"memory_total_mib": lambda self: 1000.0, question: fails}
    watch, _ = watched(monkeypatch, type("Odd", (Gpus,), answers))
    facts = {"gpus", "gpu_persistence", "gpu_memory_total_mib"}
    assert {name for name in facts if getattr(watch.facts, name)} == facts - {name}
    assert watch.not_known == {name: "TypeError: no string"}
    assert bool(watch.gpus()) == (question != "describe")


def test_a_binding_that_warns_is_asked_again_where_warnings_are_errors(monkeypatch):
    def warns(warn, seen):
        warnings.warn("pynvml is deprecated", RuntimeWarning, stacklevel=2)
        return Gpus(warn, seen)

    watch, _ = watched(monkeypatch, warns)
    assert watch.facts.gpus
