"""A model's variables made for a trial: what it draws in training is as if nobody had made them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.trials.train_functions.build_on import build_on


def recurrent():
    keras.utils.set_random_seed(3)
    layers = keras.layers.LSTM(4, dropout=0.2, recurrent_dropout=0.2), keras.layers.Dense(1)
    model = keras.Sequential(layers)
    model.compile("adam", "mse")
    return model


class NeedsValues(keras.Model):
    def __init__(self):
        super().__init__()
        self.last = keras.layers.Dense(1)

    def call(self, x):
        return self.last(tf.convert_to_tensor(np.asarray(x)))


def sequences():
    x = np.random.default_rng(0).random((64, 6, 3), "float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, 0, :1])).batch(32)


@pytest.mark.parametrize(
    "trial",
    [
        lambda model: kp.find_learning_rate(model, sequences()),
        lambda model: kp.benchmark_train_step(model, next(iter(sequences())), steps=5, repeats=1),
    ],
    ids=["find_learning_rate", "benchmark_train_step"],
)
def test_recurrent_layers_with_dropout_draw_what_they_would_have_drawn(trial):
    model, untouched = recurrent(), recurrent()
    trial(model)
    for each in (model, untouched):
        keras.utils.set_random_seed(4)
        each.fit(sequences(), epochs=1, shuffle=False, verbose=0)
    for mine, theirs in zip(model.get_weights(), untouched.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_model_that_needs_values_is_made_on_them():
    model = NeedsValues()
    build_on(model, lambda: (np.ones((2, 3), "float32"),))
    assert [tuple(weight.shape) for weight in model.weights] == [(3, 1), (1,)]


class Projects(keras.Model):
    """It has a layer that its call has not, as contrastive models have."""

    def __init__(self):
        super().__init__()
        self.last, self.projector = keras.layers.Dense(2), keras.layers.Dense(3)

    def call(self, x):
        return self.last(x)


class InTheLoss(Projects):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return keras.ops.mean(self.projector(y_pred) ** 2)


class InTheStep(Projects):
    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            loss = keras.ops.mean(self.projector(self.last(x)) ** 2)
        self.optimizer.apply(
            tape.gradient(loss, self.trainable_variables), self.trainable_variables
        )
        return {"loss": loss}


class InTraining(Projects):
    def call(self, x, training=False):
        found = self.last(x)
        if training:
            self.add_loss(keras.ops.mean(self.projector(found) ** 2))
        return found[:, 0, :1]


class Inside(Projects):
    """The layer is one of another one's."""

    def __init__(self):
        super().__init__()
        self.last = Projects()

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return keras.ops.mean(self.last.projector(y_pred) ** 2)


def with_layers_that_only_training_has(kind, **how):
    keras.utils.set_random_seed(5)
    model = kind()
    model.compile("adam", "mse", **how)
    return model


@pytest.mark.filterwarnings("ignore:`build\\(\\)` was called on layer")
@pytest.mark.parametrize("kind", [InTheLoss, InTheStep, InTraining, Inside])
def test_a_model_with_a_layer_that_only_training_has_trains_after_a_trial(kind):
    model = with_layers_that_only_training_has(kind)
    kp.benchmark_train_step(model, next(iter(sequences())), steps=5, repeats=1)
    assert int(model.optimizer.iterations) == 0
    weights = model.get_weights()
    kp.benchmark_train_step(model, next(iter(sequences())), steps=5, repeats=1)
    for before, after in zip(weights, model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)
    model.fit(sequences(), shuffle=False, verbose=0)
    untouched = with_layers_that_only_training_has(kind)
    untouched.fit(sequences(), shuffle=False, verbose=0)
    assert len(weights) == len(untouched.get_weights()) == 4


@pytest.mark.filterwarnings("ignore:`build\\(\\)` was called on layer")
def test_eagerly_such_a_model_is_refused_or_made(tmp_path):
    batch = next(iter(sequences()))
    kp.benchmark_train_step(
        with_layers_that_only_training_has(InTheLoss, run_eagerly=True), batch, steps=5, repeats=1
    )
    model = with_layers_that_only_training_has(InTheStep, run_eagerly=True)
    with pytest.raises(ValueError, match="only training makes the weights of dense"):
        kp.benchmark_train_step(model, batch, steps=5, repeats=1)
    assert not model.optimizer.built


def test_layers_in_layers_are_told_by_an_attribute_that_keras_has():
    """It is no public one: without it the layers in layers are not seen."""
    assert callable(keras.Sequential()._flatten_layers)
