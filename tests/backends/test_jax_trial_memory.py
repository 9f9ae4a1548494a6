"""What the child that tries a batch size on JAX reads of a GPU's memory: here of a stand-in."""

from types import SimpleNamespace

import pytest

pytest.importorskip("jax", reason="JAX is not installed")
import jax
import keras

from keras_perf.trials.backends import jax_memory, jax_trials

MIB = 2**20
TOLD = {"bytes_limit": 3072 * MIB, "peak_bytes_in_use": 1536 * MIB}


@pytest.fixture
def gpu(monkeypatch):
    found = SimpleNamespace(platform="gpu", memory_stats=lambda: TOLD)
    monkeypatch.setattr(jax, "local_devices", lambda: [found])
    monkeypatch.setattr(keras.distribution, "list_devices", lambda: ["gpu:0"])


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("given", "limit"), [(None, 3072), (500.0, 500)])
def test_peak_and_limit_are_the_allocators_unless_one_is_given(given, limit):
    memory = jax_memory.training_memory(given)
    assert (memory.limit_mib, memory.peak_mib()) == (limit, 1536)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_that_this_process_fills_is_refused_with_the_remedy(monkeypatch):
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    with pytest.raises(ValueError, match="Set XLA_PYTHON_CLIENT_PREALLOCATE=false"):
        jax_trials.check_room()
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax_trials.check_room()
