"""What the template says of arguments that cannot be meant."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import keras
import pytest
import tensorflow as tf

from keras_perf.advise.rules.in_a_loop import in_template
from keras_perf.loop import template
from keras_perf.loop.distribution import _found_out as found_out
from keras_perf.records.run.run_facts import RunFacts

PAGE = Path(__file__).parents[2] / "docs" / "custom_loop.md"


def directories(folder):
    return ["--log-dir", str(folder / "logs"), "--checkpoint-dir", str(folder / "saved")]


@pytest.mark.parametrize(
    "flag", ["--steps", "--batch-size", "--steps-per-call", "--evaluate-every", "--accumulate"]
)
def test_numbers_below_one_are_named(flag, capsys):
    with pytest.raises(SystemExit):
        template.arguments([flag, "0"])
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"argument {flag}: must be a whole number of at least 1, got '0'")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--batch-size 30 --accumulate 4", "must be a multiple of 4, got 30"),
        ("--batch-size 2048", "larger than the dataset's 1440 examples"),
        ("--loss-scale 128", "A loss scale needs mixed_float16"),
        ("--steps 45 --compiled", "needs whole --steps-per-call"),
    ],
)
def test_settings_that_do_not_fit_are_one_error(line, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        template.main([*line.split(), "--strategy", "none", *directories(tmp_path)])


def test_a_training_goes_on_only_with_what_it_began_with(tmp_path, capsys):
    begun = ["--strategy", "none", "--steps-per-call", "7", *directories(tmp_path)]
    assert template.main([*begun, "--steps", "7"]) == 0
    with pytest.raises(ValueError, match="the same batch_size, got 64, and 32 in"):
        template.main([*begun, "--steps", "14", "--batch-size", "64"])
    line = "--steps 20 --evaluate-every 20 --steps-per-call 10 --compiled"
    with pytest.raises(ValueError, match=r"got calls that end at \(7, 20, 20\)"):
        template.main([*begun, *line.split()])
    line = "--steps 21 --evaluate-every 14 --compiled"
    assert template.main([*begun, *line.split()]) == 0
    assert "Saved after step 21: " in capsys.readouterr().out
    logged = sorted((tmp_path / "logs" / "perf").iterdir())
    assert template.main([*begun, *line.split()]) == 0
    assert "Nothing is left to do: 21 of 21 steps are done." in capsys.readouterr().out
    assert sorted((tmp_path / "logs" / "perf").iterdir()) == logged


def penalized():
    """Of two dtypes under a mixed policy: what a layer gives, and its weights."""
    layers = keras.layers
    activity, kernel = keras.regularizers.L2(1e-3), keras.regularizers.L2(1e-3)
    hidden = layers.Dense(8, activity_regularizer=activity, kernel_regularizer=kernel)
    last = layers.Dense(10, dtype="float32")
    return keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(), hidden, last])


@pytest.mark.parametrize("exact", [[], ["--exact"]])
def test_losses_that_layers_add_in_half_precision_are_trained_on(exact, tmp_path, monkeypatch):
    monkeypatch.setattr(template, "make_model", penalized)
    before, line = keras.config.dtype_policy(), "--strategy none --policy mixed_bfloat16 --steps 4"
    try:
        assert template.main([*line.split(), *exact, *directories(tmp_path)]) == 0
    finally:
        keras.config.set_dtype_policy(before)


@pytest.mark.parametrize("text", [template.__doc__, PAGE.read_text("utf-8")])
def test_what_starts_without_a_strategy_is_told_as_it_is(text, monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind, kind])
    assert found_out({}) == "mirrored"
    alone, one_device, *_ = re.findall(r"^ *python train\.py .*$", text, re.M)
    assert re.search(r"# one device; all .*several", alone)
    assert "--strategy one-device" in one_device


@pytest.fixture
def float32_again():
    yield
    keras.config.set_dtype_policy("float32")


@pytest.mark.whole
@pytest.mark.parametrize(
    "options",
    [
        "--steps-per-call 16",
        "--evaluate-every 5",
        "--jit-compile",
        "--policy mixed_float16",
        "--batch-size 64 --accumulate 4",
        "--reduce-dtype float16",
    ],
)
def test_advice_can_be_followed_when_the_training_is_done(
    options, tmp_path, monkeypatch, capsys, float32_again
):
    monkeypatch.chdir(tmp_path)
    begun = ["--strategy", "none", "--steps", "5"]
    assert template.main(begun) == 0
    _, command, directories, *_ = in_template(
        SimpleNamespace(facts=RunFacts()), options, elsewhere=""
    ).splitlines()
    advised = shlex.split(command.removesuffix("\\") + directories)
    assert advised[:2] == ["python", "train.py"]
    capsys.readouterr()
    assert template.main([*begun, *advised[2:]]) == 0
    assert "Saved after step 5: " in capsys.readouterr().out
