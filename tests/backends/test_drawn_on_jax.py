"""The first promise on JAX: programs drawn at random, trained with our callbacks and without."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.whole,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed"),
]

DRAWS = 3
"""`make test-long` draws 100."""

PROMISES = Path(__file__).parents[1] / "fit" / "promises" / "test_training_is_unchanged.py"


def test_no_program_trains_otherwise_when_it_is_observed():
    test = f"{PROMISES}::test_no_program_trains_otherwise_when_it_is_observed"
    jax = {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": "", "KERAS_PERF_DRAWS": str(DRAWS)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        capture_output=True,
        text=True,
        env=os.environ | jax,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "1 passed" in done.stdout
