"""Keras on JAX with `keras.distribution`, where one CPU counts as two devices."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    environ = os.environ | {
        "KERAS_BACKEND": "jax",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    script = Path(__file__).with_name("on_two_devices.py")
    command = [sys.executable, str(script), str(tmp_path_factory.mktemp("two"))]
    ran = subprocess.run(command, capture_output=True, text=True, env=environ)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", ["alone", "shared"])
def test_training_is_the_same_bit_for_bit(found, name):
    assert found["devices"] == 2
    assert found[name]["same"]


def test_who_shares_the_batches_is_named(found):
    told = [
        (found[name]["facts"].get("strategy"), found[name]["facts"].get("replicas", 1))
        for name in ("alone", "shared")
    ]
    assert told == [(None, 1), ("DataParallel", 2)]
    assert found["devices_of_parts"] == 2
    assert found["in_parts"] == {"strategy": "ModelParallel", "replicas": 1}


def test_a_step_counts_all_examples_and_what_one_device_multiplies(found):
    alone, shared = (found[name]["facts"] for name in ("alone", "shared"))
    assert shared["examples_per_step"] == alone["examples_per_step"] == 16
    assert shared["step_work"]["flops"]["float32"] == alone["step_work"]["flops"]["float32"] / 2
