"""Trials on Keras's JAX backend, with and without TensorFlow beside it."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

pytestmark = [pytest.mark.whole, pytest.mark.timeout(900)]

WAYS = ("as it is", "four at once", "half precision", "unpacks its data", "a step raises")

HERE = Path(__file__).parent
MODELS = HERE.with_name("trials")


def run(folder, of, *first):
    path = os.pathsep.join(filter(None, [*first, str(MODELS), *sys.path]))
    environ = {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    command = [sys.executable, str(HERE / "trials_on_jax.py"), str(folder), of]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | environ)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def of_arrays(tmp_path_factory):
    """Where TensorFlow is not installed: also for the processes that it starts."""
    blocked = tmp_path_factory.mktemp("blocked")
    (blocked / "tensorflow.py").write_text("raise ImportError('TensorFlow is not installed')")
    return run(tmp_path_factory.mktemp("arrays"), "arrays", str(blocked))


@pytest.fixture(scope="module")
def of_datasets(tmp_path_factory):
    return run(tmp_path_factory.mktemp("datasets"), "datasets")


def test_sizes_train_in_processes_of_their_own_until_memory_runs_out(of_arrays):
    swept = of_arrays["swept"]
    rows = dict(zip(swept["batch_size"], swept["reason"], strict=True))
    trained = [size for size, reason in rows.items() if not reason]
    assert {64, 512, 1024, 2048} <= {*trained}
    assert rows[2**16].startswith("out of memory: ")
    for name in ("step_ms", "examples_per_sec", "peak_mib"):
        known = dict(zip(rows, swept[name], strict=True))
        assert all(known[size] > 0 for size in trained)
        assert math.isnan(known[2**16])
    assert of_arrays["same"]
    assert "Batch sizes, tried" in of_arrays["diagnosis"]


def test_the_peaks_predict_a_size_that_is_tried(of_arrays):
    peaks = dict(zip(of_arrays["swept"]["batch_size"], of_arrays["swept"]["peak_mib"], strict=True))
    # A batch of so many examples is held at least once.
    assert peaks[2048] > 2048 * 2**14 * 4 / 2**20
    assert 2048 < of_arrays["predicted"] < 2**16
    assert of_arrays["predicted"] in peaks


def test_calls_of_predict_are_measured_and_arrays_have_the_batch_size_of_fit(of_arrays):
    assert of_arrays["present"] == 32
    assert of_arrays["calls"]["failed"] == [False]


def test_where_tensorflow_is_missing_it_is_said_what_can_be_given(of_arrays):
    assert of_arrays["refused"].startswith("dataset must be arrays as given to fit, (x, y), where")
    assert "so needs TensorFlow, which is not installed" in of_arrays["needed"]
    assert "\n" not in of_arrays["needed"]


def test_a_rate_is_found_where_the_loss_falls_before_it_diverges(of_arrays):
    losses = of_arrays["losses"]
    assert 1e-4 < of_arrays["suggestion"] < 1
    assert min(losses) < losses[0] / 2
    assert losses[-1] > losses[0]
    # The one that it was compiled with.
    assert of_arrays["rate"] == pytest.approx(0.01)


def test_of_a_dataset_sizes_are_tried_too_and_rates_are_the_same_again(of_datasets):
    assert of_datasets["swept"]["failed"] == [False]
    assert of_datasets["alike"]


def test_a_pipeline_is_tuned_no_further_than_to_the_pace_of_the_steps(of_datasets):
    assert "faster input would buy nothing" in of_datasets["tuned"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("trial", ["ramped", "timed"])
def test_training_goes_on_bit_for_bit_after_a_trial(of_arrays, of_datasets, trial, way):
    same, raised = (of_arrays | of_datasets)[trial][way]
    assert same
    assert raised == (way == "a step raises")


def test_no_training_state_of_a_trial_stays_at_the_model(of_arrays, of_datasets):
    assert not of_arrays["held"]
    assert not of_datasets["held"]


def test_so_it_does_where_steps_run_eagerly(of_datasets):
    assert of_datasets["timed"]["eager"] == [True, False]
