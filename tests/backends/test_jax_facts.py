"""What is told of the GPUs that JAX has, with devices that stand in for them."""

from types import SimpleNamespace

import pytest

pytest.importorskip("jax", reason="JAX is not installed")
import jax

from keras_perf.backends import jax_facts
from keras_perf.observers.nvml.cuda_order import Seen

MIB = 2**20


def gpu(place, capability="9.0", **memory):
    return SimpleNamespace(
        platform="gpu",
        device_kind="NVIDIA H100",
        local_hardware_id=place,
        compute_capability=capability,
        memory_stats=lambda: {name: mib * MIB for name, mib in memory.items()} or None,
    )


@pytest.fixture
def devices(monkeypatch):
    """JAX has these."""

    def has(*found):
        monkeypatch.setattr(jax, "local_devices", lambda: [*found])

    return has


CPU = SimpleNamespace(platform="cpu")


def test_gpus_are_named_with_their_capability_and_places(devices):
    devices(CPU, gpu(1, "8.6"), gpu(3))
    assert jax_facts.gpus() == Seen(None, (1, 3))
    assert jax_facts.training_gpus() == [
        {"name": "NVIDIA H100", "compute_capability": [8, 6]},
        {"name": "NVIDIA H100", "compute_capability": [9, 0]},
    ]


def test_memory_is_told_of_each_in_mib_and_of_the_first_its_peak(devices):
    first = gpu(0, bytes_in_use=100, peak_bytes_in_use=300, bytes_limit=60000)
    devices(first, gpu(1, bytes_in_use=50))
    told = [
        (each.name, each.current_mib, each.peak_mib, each.limit_mib)
        for each in jax_facts.device_memory()
    ]
    assert told == [("GPU:0", 100, 300, 60000), ("GPU:1", 50, 50, None)]
    assert jax_facts.peak_memory_mib() == 300
    assert jax_facts.allocated_by_tag() == {
        "gpu/0/allocated_mib": 100,
        "gpu/0/peak_allocated_mib": 300,
        "gpu/1/allocated_mib": 50,
        "gpu/1/peak_allocated_mib": 50,
    }


@pytest.mark.parametrize("found", [(), (CPU,), (gpu(0),)])
def test_what_is_not_told_is_missing_and_never_0(devices, found):
    devices(*found)
    assert jax_facts.device_memory() == []
    assert jax_facts.peak_memory_mib() is None
    assert jax_facts.allocated_by_tag() == {}


def test_without_gpus_none_is_seen(devices):
    devices(CPU)
    assert jax_facts.gpus() == Seen(None, ())
    assert jax_facts.training_gpus() == []


def test_jax_tells_of_its_devices_what_is_asked_of_them():
    """Canary: of a CPU, too, JAX tells all but what only a GPU has."""
    for device in jax.local_devices():
        assert isinstance(device.local_hardware_id, int)
        assert {type(device.platform), type(device.device_kind)} == {str}
        assert device.memory_stats() is None or "bytes_in_use" in device.memory_stats()
