"""XLA keeps what it compiled for the next run of the same program, as a note says."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import keras, numpy as np
keras.utils.set_random_seed(1)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=True)
model.fit(np.ones((16, 8)), np.ones((16, 1)), batch_size=8, verbose=0)
print([float(w.sum()) for w in model.get_weights()])
"""

TELLS = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "device_executable_persistor=3"}


def trained(folder):
    """What it printed, and what TensorFlow told of its cache."""
    flags = f"--tf_xla_persistent_cache_directory={folder}"
    environment = {**os.environ, **TELLS, "TF_XLA_FLAGS": flags}
    program = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        program, env=environment, capture_output=True, text=True, check=True, timeout=240
    )
    return done.stdout, done.stderr


@pytest.mark.long
def test_a_second_run_loads_what_the_first_compiled(tmp_path):
    first, compiled = trained(tmp_path)
    second, loaded = trained(tmp_path)
    assert "Loading cached entry for" not in compiled
    assert "Loading cached entry for" in loaded
    assert len(list(tmp_path.iterdir())) == 1
    assert first == second
