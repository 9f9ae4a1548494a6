"""Advice is tried on Keras's JAX backend as on TensorFlow, and training goes on as without."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

pytestmark = [
    pytest.mark.whole,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("advice on JAX"),
]

WAYS = ("as it is", "four at once", "eager", "half precision", "unpacks its data", "a step raises")

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = os.pathsep.join([str(HERE), str(HERE.with_name("trials")), *filter(None, sys.path)])
    environ = {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": path}
    folder = tmp_path_factory.mktemp("logs")
    command = [sys.executable, str(HERE / "advice_on_jax.py"), str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | environ)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_the_pair_is_measured_and_changes_of_input_step_and_interpreter_are_tried(found):
    slow = found["slow"]
    assert all(figure > 0 for figure in slow["pair"])
    of_step = {"raise-steps-per-execution", "disable-xla", "tune-gc"}
    if found["four at once"]:
        # Keras stacks the batches of several steps, which no trial does.
        of_step.remove("raise-steps-per-execution")
    # Of a slow input those of a step are tried on top alone, and told of where they gain.
    in_vain = {id for id, why in slow["left"].items() if "it gains nothing" in why}
    assert "cache" in slow["measured"]
    assert of_step <= {*slow["measured"]} | in_vain
    assert slow["text"].startswith("As it is: a step ")


def test_other_sizes_and_precisions_are_tried_or_it_is_said_why_not(found):
    all_ = {*found["slow"]["measured"], *found["slow"]["left"]}
    assert {"larger-batch", "mixed-precision"} <= all_


def test_a_training_that_is_not_compiled_is(found):
    assert "enable-xla" in found["plain"]["measured"]
    # Without both, each operation would run from Python all the same.
    assert found["eager"]["codes"]["disable-run-eagerly"].endswith(
        "run_eagerly=False, jit_compile=True)"
    )


def test_settings_of_the_environment_are_left_to_tensorflow(found):
    assert found["plain"]["left"]["settings"] == (
        "settings of the environment are tried with TensorFlow only"
    )


@pytest.mark.parametrize("way", WAYS)
def test_training_goes_on_bit_for_bit(found, way):
    if way not in found["ways"]:
        assert way == "four at once"
        assert "must run one step per execution" in found[way]
        return
    same, raised = found["ways"][way]
    assert same
    assert not raised
    assert found["measured of each way"][way] > 0


@pytest.mark.fault(1, "Ctrl-C while advice is tried on JAX")
@pytest.mark.parametrize("when", ["pressed", "pressed at once"])
def test_so_it_does_after_ctrl_c_in_the_middle_of_a_slice(found, when):
    [told] = found[when]["found"]
    assert told["stopped"] == "an interrupt"
    assert found[when]["same"]


@pytest.mark.fault(1, "a change that fails while it is tried on JAX")
def test_and_after_a_change_that_fails_when_it_has_used_up_the_weights(found):
    [told] = found["failed"]["found"]
    assert "RuntimeError: of a change" in told["left"].values()
    # The others were tried on.
    assert told["measured"]
    assert found["failed"]["same"]


def test_and_after_a_training_that_fails_as_it_is(found):
    assert found["failed as it is"]["errors"] == ["of a change"]
    assert found["failed as it is"]["same"]


def test_hooks_see_the_model_that_trains_on_trial(found):
    assert found["called"]["seen"] > 2
    assert found["called"]["calls"] > 2
    assert "amortize-callback" in found["called"]["measured"]


def test_it_is_tried_at_the_end_of_fit_and_the_diagnosis_shows_it(found):
    tried = found["in fit"]
    assert tried["same"]
    assert {"tune-gc", "amortize-callback"} <= {*tried["measured"]}
    assert "Sleeps" in tried["where"]
    assert any(note.startswith("Measured after training") for note in tried["notes"])
    # Nobody's hook has read the model in the middle of an epoch.
    assert tried["owners"] == []


def test_other_data_are_refused_in_a_line(found):
    arrays, ragged = found["refused"]
    assert arrays.startswith("dataset must be a tf.data.Dataset of batches")
    assert ragged == "dataset must yield dense tensors, got RaggedTensor."
