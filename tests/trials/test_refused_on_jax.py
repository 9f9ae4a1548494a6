"""Where Keras computes with JAX, what runs on TensorFlow alone says so before it does any work."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf import loop
from keras_perf.records.observed_backends import NO_LOOPS, NO_TRIALS, NOT_TRIED_THERE

ROWS = np.ones((32, 4), "float32")

TRIALS = {
    "sweep_steps_per_execution": lambda model, data: kp.sweep_steps_per_execution(model, data),
    "benchmark_train_step": lambda model, data: kp.benchmark_train_step(model, data),
}


class NotDistributed(keras.Sequential):
    """On JAX a model has no strategy."""

    @property
    def distribute_strategy(self):
        raise AttributeError("distribute_strategy")


@pytest.fixture
def model():
    made = NotDistributed([keras.Input((4,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.fixture
def data():
    return tf.data.Dataset.from_tensor_slices((ROWS, ROWS[:, :1])).batch(8)


@pytest.fixture
def on_jax(model, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")


@pytest.mark.usefixtures("on_jax")
@pytest.mark.parametrize("name", TRIALS)
def test_a_trial_refuses_in_one_line(model, data, name):
    with pytest.raises(NotImplementedError) as raised:
        TRIALS[name](model, data)
    assert str(raised.value) == f"keras_perf: {NO_TRIALS}."
    assert "\n" not in NO_TRIALS


ON_JAX = {
    "try_advice": lambda model, data: kp.try_advice(model, data),
    "sweep_batch_size": lambda model, data: kp.sweep_batch_size(model, data),
    "find_learning_rate": lambda model, data: kp.find_learning_rate(model, data),
    "tune_input with a model": lambda model, data: kp.tune_input(data, model=model),
}


@pytest.mark.parametrize("name", [*TRIALS, *ON_JAX])
def test_on_another_backend_all_of_them_do(model, data, name, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    with pytest.raises(NotImplementedError) as raised:
        (TRIALS | ON_JAX)[name](model, data)
    assert str(raised.value) == f"keras_perf: {NOT_TRIED_THERE if name in ON_JAX else NO_TRIALS}."


@pytest.mark.usefixtures("on_jax")
def test_so_does_a_loop_and_it_writes_nothing(model, tmp_path):
    with pytest.raises(NotImplementedError) as raised:
        loop.LoopMonitor(tmp_path / "run", model=model)
    assert str(raised.value) == f"keras_perf: {NO_LOOPS}."
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("on_jax")
def test_a_pipeline_alone_is_tuned_as_everywhere(data):
    assert isinstance(kp.tune_input(data, budget_s=0.1).dataset, tf.data.Dataset)
