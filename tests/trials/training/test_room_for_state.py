"""Trials of a model whose variables cannot be copied are refused before anything is copied."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.trials import room_for_state
from keras_perf.trials.room_for_state import require_room

FREE_MIB = 10.0


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr(room_for_state, "memory_available_mib", lambda: FREE_MIB)
    monkeypatch.setattr(room_for_state, "LITTLE_MIB", 0.0)


@pytest.mark.parametrize(
    ("dtype", "rows"), [("float32", 5), ("bfloat16", 10), ("float64", 2.5), ("int8", 20)]
)
def test_half_of_the_free_memory_may_be_taken(dtype, rows):
    fits = keras.Variable(np.zeros((int(rows * 2**9), 2**9)), dtype=dtype)
    require_room([fits])
    require_room([fits.value])
    with pytest.raises(ValueError, match=r"got 5\.25 MiB of them, and of 10 MiB that are free"):
        require_room([fits, keras.Variable(np.zeros(2**16), dtype="float32")])


def test_a_model_is_refused_with_what_its_optimizer_holds():
    model = keras.Sequential([keras.Input((2**9,)), keras.layers.Dense(2**10)])
    data = tf.data.Dataset.from_tensors((tf.zeros(2**9), tf.zeros(2**10))).repeat(8).batch(4)
    model.compile("sgd", "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    assert kp.try_advice(model, data, budget_s=5.0).trials.step_ms > 0
    model.compile("adam", "mse")
    with pytest.raises(ValueError, match=r"copy of its variables, got 6\.01 MiB"):
        kp.try_advice(model, data)
