"""The programs with a known bottleneck, through the same checks as on TensorFlow."""

import os
import subprocess
import sys
from importlib.util import find_spec

import bottlenecks
import pytest
import test_scenarios

pytestmark = [
    pytest.mark.whole,
    # They judge times, in a process of their own, which asks them again itself.
    pytest.mark.xdist_group("timing"),
    pytest.mark.timeout(1200),
    pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed"),
]


def test_their_bottlenecks_are_found():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "timing"]
    backend = {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command, test_scenarios.__file__],
        capture_output=True,
        text=True,
        env=os.environ | backend,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    told = len(bottlenecks.SCENARIOS) - len(test_scenarios.NOT_ON_JAX)
    assert f"{told} passed" in done.stdout
