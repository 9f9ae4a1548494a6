"""Precision is tried in both directions, on a copy: on a GPU, and on processors that have it."""

import time
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observers import cpu_formats
from keras_perf.observers.cpu_formats import cpu_has_bfloat16
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.training import budget, changes, precision, running
from keras_perf.trials.training.precision import (
    in_precision,
    other_policy,
    why_no_other_policy,
)

WIDTH, ROWS = 256, 64
CLEARLY = 1.5


def model(policy="float32", width=WIDTH):
    usual = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        keras.utils.set_random_seed(2)
        layers = [keras.layers.Dense(width, activation="relu") for _ in range(3)]
        made = keras.Sequential([keras.Input((width,)), *layers, keras.layers.Dense(1)])
        made.compile("sgd", "mse", jit_compile=False)
    finally:
        keras.config.set_dtype_policy(usual)
    return made


def data(width=WIDTH):
    x = np.linspace(0, 1, ROWS * width, dtype="float32").reshape(ROWS, width)
    return tf.data.Dataset.from_tensors((x, x[:, :1])).repeat(20)


@pytest.fixture
def only_precision(monkeypatch):
    for name in ("_eager", "_several_steps", "_xla", "_collector", "_larger_batch"):
        monkeypatch.setattr(changes, name, lambda *_: iter(()))
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.02)
    monkeypatch.setattr(budget, "PAIR_S", (0.2, 0.4))


def cpu_with(monkeypatch, tmp_path, flags):
    told = tmp_path / "cpuinfo"
    told.write_text(f"processor : 0\nflags : fpu avx2 {flags}\n")
    monkeypatch.setattr(cpu_formats, "CPU_FLAGS", str(told))


@pytest.mark.parametrize(
    ("flags", "has_it"), [("", False), ("avx512_bf16 x", True), ("amx_bf16", True), ("bf16", True)]
)
def test_a_processor_tells_whether_it_has_bfloat16(monkeypatch, tmp_path, flags, has_it):
    cpu_with(monkeypatch, tmp_path, flags)
    assert cpu_has_bfloat16() is has_it


def test_a_system_that_tells_nothing_is_not_known(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu_formats, "CPU_FLAGS", str(tmp_path / "nowhere"))
    assert cpu_has_bfloat16() is None


@pytest.mark.parametrize(
    ("present", "flags", "other"),
    [
        ("float32", "", None),
        ("float32", "avx512_bf16", "mixed_bfloat16"),
        ("mixed_bfloat16", "", "float32"),
        ("mixed_bfloat16", "avx512_bf16", "float32"),
        ("mixed_float16", "", "float32"),
        ("float64", "avx512_bf16", None),
    ],
)
def test_both_directions_are_tried_on_a_cpu(monkeypatch, tmp_path, present, flags, other):
    cpu_with(monkeypatch, tmp_path, flags)
    assert other_policy(model(present, width=8)) == other


@pytest.mark.parametrize(
    ("capability", "replicas", "other"),
    [
        ((9, 0), 1, "mixed_bfloat16"),
        ((8, 0), 2, "mixed_bfloat16"),
        ((7, 5), 1, "mixed_float16"),
        ((7, 5), 2, None),
        (None, 1, "mixed_bfloat16"),
    ],
)
def test_on_a_gpu_what_it_computes_in_is_tried(monkeypatch, capability, replicas, other):
    strategy = object() if replicas > 1 else None
    told = {"on_gpu": True, "gpu_capability": capability, "strategy": strategy}
    backend = SimpleNamespace(**{name: lambda *_, it=it: it for name, it in told.items()})
    monkeypatch.setattr(precision, "training_backend", lambda: backend)
    one = model("float32", width=8)
    assert other_policy(one) == other
    if other is None:
        assert "several replicas" in why_no_other_policy(one)


@pytest.mark.usefixtures("only_precision")
@pytest.mark.parametrize(
    ("present", "why"),
    [
        ("float32", "no instructions for bfloat16"),
        ("float64", "the model's policy is float64"),
    ],
)
def test_why_none_is_tried_is_told(monkeypatch, tmp_path, present, why):
    cpu_with(monkeypatch, tmp_path, "")
    tried = kp.try_advice(model(present, width=8), data(8), budget_s=60.0)
    [told] = (each.why for each in tried.trials.not_tried if each.id == "mixed-precision")
    assert why in told


@pytest.mark.usefixtures("only_precision")
@pytest.mark.parametrize(
    ("present", "flags", "id", "policy"),
    [
        ("mixed_bfloat16", "", "full-precision", "float32"),
        ("float32", "avx512_bf16", "mixed-precision", "mixed_bfloat16"),
    ],
)
def test_the_model_is_left_as_it_was(monkeypatch, tmp_path, present, flags, id, policy):
    cpu_with(monkeypatch, tmp_path, flags)
    mine, usual = model(present, width=8), keras.config.dtype_policy().name
    before = [weight.copy() for weight in mine.get_weights()]
    tried = kp.try_advice(mine, data(8), budget_s=60.0)
    [found] = (each for each in tried.trials.changes if each.id == id)
    assert f'"{policy}"' in found.code
    assert found.alters == "the precision of what is computed"
    # What alters training is for its owner to choose.
    assert tried.changes == ()
    assert mine.dtype_policy.name == present
    assert keras.config.dtype_policy().name == usual
    for one, other in zip(before, mine.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


def step_s(one):
    """Of a training alone, by a clock of the test."""
    batches = data()
    one.fit(batches, verbose=0, shuffle=False)
    begin = time.perf_counter()
    one.fit(batches, verbose=0, shuffle=False)
    return time.perf_counter() - begin


def test_a_model_that_trains_by_a_method_set_on_the_object_is_not_copied():
    mine = model("float32", width=8)
    mine.train_step = mine.train_step
    with pytest.raises(ValueError, match="a copy of the model has no train_step that was set on"):
        in_precision(mine, "mixed_bfloat16")


@pytest.mark.timing
@pytest.mark.usefixtures("only_precision")
def test_what_half_precision_costs_or_gives_on_this_cpu_is_found():
    """Whichever is faster here: a processor without instructions for it converts at each layer."""
    mine = model("mixed_bfloat16")
    full = in_precision(mine, "float32")
    assert {layer.dtype_policy.name for layer in full.layers} == {"float32"}
    tried = kp.try_advice(mine, data(), budget_s=60.0)
    [found] = (each for each in tried.trials.changes if each.id == "full-precision")
    ratios = sorted(step_s(mine) / step_s(full) for _ in range(5))
    # Of what is not clear to a clock nothing is expected.
    if ratios[0] > CLEARLY:
        assert found.high > 1.0
    elif ratios[-1] < 1 / CLEARLY:
        assert found.low < 1.0
    assert found.before_ms / found.after_ms == pytest.approx(found.gain, rel=0.5)
