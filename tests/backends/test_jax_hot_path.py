"""What an execution costs on JAX, counted: times are the machine's and its neighbours'."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

pytestmark = pytest.mark.whole

MOST = 54
"""Python calls of ours in an execution, in all threads. There were 45."""


def test_an_execution_costs_the_whole_suite_few_calls(tmp_path):
    environ = os.environ | {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": ""}
    script = Path(__file__).with_name("calls_on_jax.py")
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, env=environ
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found = json.loads(ran.stdout.splitlines()[-1])
    assert found["fit.py:_execute"] == pytest.approx(1)
    # One in Keras's own thread, which reads the logs there.
    assert found["callback_timing.py:on_train_batch_end"] == pytest.approx(1, abs=0.1)
    assert sum(found.values()) < MOST, found
