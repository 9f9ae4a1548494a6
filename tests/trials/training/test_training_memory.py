"""What the child that tries a batch size reads of a GPU's memory: here of one that is scripted."""

from types import SimpleNamespace

import pytest
import tensorflow as tf
from tensorflow.python.client import device_lib

from keras_perf.trials.backends import tensorflow_memory as module
from keras_perf.trials.backends.tensorflow_memory import only_so_much, training_memory

GIB = 2**30
FOUND = (("CPU", GIB), ("GPU", 3 * GIB), ("GPU", 7 * GIB))


@pytest.fixture
def gpu(monkeypatch):
    """A machine with two GPUs, of which the first is used; what its allocator was told."""
    told = SimpleNamespace(peak=0, reset=[], limits=[], asked=0)

    def devices():
        told.asked += 1
        return [SimpleNamespace(device_type=kind, memory_limit=size) for kind, size in FOUND]

    def peak(device):
        assert device == "GPU:0"
        return {"current": 0, "peak": told.peak}

    def limited(device, slices):
        told.limits.append((device, [each.memory_limit for each in slices]))

    monkeypatch.setattr(device_lib, "list_local_devices", devices)
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [f"{kind}:0"])
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: ["first", "second"])
    monkeypatch.setattr(tf.config, "set_logical_device_configuration", limited)
    monkeypatch.setattr(tf.config.experimental, "reset_memory_stats", told.reset.append)
    monkeypatch.setattr(tf.config.experimental, "get_memory_info", peak)
    return told


def test_what_the_allocator_found_free_on_the_first_gpu_is_the_limit(gpu):
    assert training_memory(None).limit_mib == 3072


def test_a_limit_that_was_given_is_it_and_nothing_is_asked(gpu):
    assert training_memory(500.0).limit_mib == 500
    assert gpu.asked == 0


def test_the_peak_is_the_allocator_s_since_it_was_made(gpu):
    memory = training_memory(None)
    assert gpu.reset == ["GPU:0"]
    gpu.peak = 3 * GIB // 2
    assert memory.peak_mib() == 1536


def test_each_gpu_is_given_no_more_than_the_limit(gpu):
    only_so_much(None)
    assert gpu.limits == []
    only_so_much(500.0)
    assert gpu.limits == [("first", [500.0]), ("second", [500.0])]


def test_without_a_gpu_it_is_this_process_s_memory(monkeypatch):
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: [])
    monkeypatch.setattr(module, "HostMemory", lambda limit_mib: ("host", limit_mib))
    assert training_memory(500.0) == ("host", 500.0)


def test_tensorflow_tells_the_limit_of_a_device_by_the_names_that_are_read():
    [cpu] = (each for each in device_lib.list_local_devices() if each.device_type == "CPU")
    assert cpu.memory_limit > 0
