"""What training on JAX gains once it waits for no batch hook: as predicted, and by a clock."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

pytestmark = [pytest.mark.whole, pytest.mark.xdist_group("timing"), pytest.mark.timeout(600)]

WAITS = "training waits for the result of each step before it prepares the next one"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    environ = os.environ | {"KERAS_BACKEND": "jax", "CUDA_VISIBLE_DEVICES": ""}
    script, folder = Path(__file__).with_name("late_hooks.py"), tmp_path_factory.mktemp("late")
    ran = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, env=environ
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.timing
def test_what_was_gained_lies_in_the_predicted_interval(found):
    low, expected, high, action = found["waits"]["advice"]["async-callback"]
    assert expected > 1.05
    assert low <= found["gain"] <= 1.1 * high
    assert "class Looks(keras.callbacks.Callback):\n    async_safe = True" in action
    assert found["waits"]["text"].count(WAITS) == 1


@pytest.mark.timing
def test_what_reading_the_model_in_each_step_costs_lies_in_the_predicted_interval(found):
    low, expected, high, action = found["touches"]["advice"]["model-at-epoch-end"]
    assert expected > 1.05
    assert low / 1.1 <= found["gain without"] <= 1.1 * high
    assert "    def on_epoch_end(self, epoch, logs=None):\n" in action
    assert "amortize-callback" not in found["touches"]["advice"]
    assert found["touches"]["text"].count("read self.model") == 1


def test_a_hook_that_is_called_late_is_advised_no_more(found):
    assert "async-callback" not in found["late"]["advice"]
    assert WAITS not in found["late"]["text"]


def test_callbacks_that_are_no_list_are_called_late_and_nothing_waits(found):
    """Canary for `keras_waits`: without Keras's private name the hook seems to be waited for."""
    assert "async-callback" not in found["no list"]["advice"]
    assert WAITS not in found["no list"]["text"]


def test_predicting_between_epochs_is_no_reading_of_the_model_within_one(found):
    assert "read self.model" not in found["predicts"]["text"]


@pytest.mark.parametrize("name", ["stops", "keras's own"])
def test_a_hook_that_may_read_the_model_is_named_and_not_advised_to_be_late(found, name):
    assert "async-callback" not in found[name]["advice"]
    assert WAITS in found[name]["text"]
    assert "none may have that reads or changes self.model" in found[name]["text"]


@pytest.mark.timing
def test_what_a_late_hook_takes_lies_at_an_epoch_s_end_and_in_no_step(found):
    parts = found["sleeps"]["parts"]
    assert parts["epoch_rest"] > parts["step"]
    assert "Sleeps.on_train_batch_end" in found["sleeps"]["text"]
    assert "each epoch ends when all of its calls are over" in found["sleeps"]["text"]
    assert WAITS not in found["sleeps"]["text"]


def test_a_checkpoint_that_saves_once_an_epoch_is_advised_to_be(found):
    *_, action = found["saves"]["advice"]["async-callback"]
    assert action.endswith("keras.callbacks.ModelCheckpoint(...)\ncalled_late.async_safe = True")


def test_beside_one_that_reads_the_model_nothing_is_advised_and_both_are_named(found):
    assert "async-callback" not in found["reads"]["advice"]
    assert WAITS in found["reads"]["text"]
    text = " ".join(found["reads"]["text"].split())
    assert re.search(r"Reads\.on_train_batch_end( \(.*?\))? read self\.model", text)
