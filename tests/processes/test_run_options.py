"""Options of `keras-perf run` on programs that train, and Keras on JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

import keras_perf as kp

pytestmark = pytest.mark.xdist_group("a program with fits")

PROGRAM = """
import os, sys
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import keras
import numpy as np
keras.utils.set_random_seed(1)
x = np.ones((400, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
data = (x, x[:, :1])
if "dataset" in sys.argv:
    import tensorflow as tf
    data = (tf.data.Dataset.from_tensor_slices(data).batch(8),)
model.fit(*data, batch_size=None if "dataset" in sys.argv else 8, epochs=2, verbose=0)
print("trained", keras.backend.backend(), flush=True)
if "fails" in sys.argv: raise RuntimeError("of its own")
"""
OF_OTHERS = ("W0000", "I0000", "E0000", "WARNING: All log", "To enable the", "/", "  self.")
"""What TensorFlow's C++ and Python's warnings print."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    (folder / "program.py").write_text(PROGRAM)
    return folder


def run(folder, *options, does="", **environ):
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-m", "keras_perf", "run", *options, "program.py", does],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=240,
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", **environ},
    )


@pytest.mark.whole
def test_the_steps_that_are_asked_for_are_traced_also_where_the_program_fails(folder):
    traced = ("--log-dir", "traced", "--profile-steps", "20:25", "--no-gpu")
    found = run(folder, *traced, does="fails")
    assert (found.returncode, found.stdout) == (1, "trained tensorflow\n")
    *_, ours = found.stderr.partition("RuntimeError: of its own\n\n")
    assert "part of a step" in ours
    assert ours.endswith(f"Written to {os.path.join('traced', 'fit_1')}.\n")
    log_dir = folder / "traced" / "fit_1"
    assert list(kp.read_trace(log_dir).to_frame()["step"]) == [20, 21, 22, 23, 24]
    tags = set(kp.load_scalars(log_dir)["tag"])
    assert "perf/step_time_ms" in tags
    assert {tag for tag in tags if tag.startswith(("gpu/", "host/"))} == set()


@pytest.mark.whole
def test_advice_is_tried_quietly(folder):
    found = run(folder, "--log-dir", "tried", "--try-advice", "--quiet", does="dataset")
    assert (found.returncode, found.stdout) == (0, "trained tensorflow\n")
    assert [line for line in found.stderr.splitlines() if not line.startswith(OF_OTHERS)] == []
    facts = kp.diagnose(folder / "tried" / "fit_1").summary.facts
    assert facts.advice_trials.changes


@pytest.mark.whole
@pytest.mark.skipif(find_spec("jax") is None, reason="JAX is not installed")
def test_a_program_on_jax_is_diagnosed(folder):
    found = run(folder, "--log-dir", "on_jax", KERAS_BACKEND="jax")
    assert (found.returncode, found.stdout) == (0, "trained jax\n")
    assert "part of a step" in found.stderr
    told = kp.diagnose(folder / "on_jax" / "fit_1")
    assert "jax" in told.summary.facts.to_json()["versions"]
    assert told.summary.steps > 0
