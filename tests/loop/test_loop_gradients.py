"""Gradients of parts, and what an optimizer must not do by itself."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_perf.loop import GradientUpdate, accumulate, scaled
from keras_perf.loop.distribution import Distribution
from keras_perf.loop.gradients import _turn_own_reduction_off


def alone():
    return Distribution(tf.distribute.get_strategy())


def model():
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, kernel_initializer="ones")])


@pytest.mark.parametrize(
    ("optimizer", "arguments", "words"),
    [
        ({}, {"dtype": "int8"}, "dtype must be None, 'float16' or 'bfloat16', got 'int8'"),
        ({}, {"dtype": "float16"}, "needs a LossScaleOptimizer, .* got SGD. Use .*scaled"),
        ({"gradient_accumulation_steps": 2}, {}, "Use keras_perf.loop.accumulate"),
        (
            {"use_ema": True, "ema_overwrite_frequency": 2},
            {},
            "ema_overwrite_frequency must be None",
        ),
    ],
)
def test_what_would_go_wrong_is_refused(optimizer, arguments, words):
    with pytest.raises(ValueError, match=words):
        GradientUpdate(alone(), keras.optimizers.SGD(**optimizer), model(), **arguments)


def test_a_model_without_weights_yet_is_refused():
    class Later(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x):
            return self.dense(x)

    later = Later()
    with pytest.raises(ValueError, match="must be built and have weights to train"):
        GradientUpdate(alone(), keras.optimizers.SGD(), later)
    later(np.ones((1, 3)))
    GradientUpdate(alone(), keras.optimizers.SGD(), later)


def test_parts_of_structures_and_rows_of_embeddings_are_summed():
    table = tf.Variable(tf.ones((5, 2)))

    def gradients_of(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, x["row"]) * y)
        return [tape.gradient(loss, table)], tf.constant(0.25)

    rows, factors = np.array([0, 1, 1, 4]), np.array([[1.0], [2.0], [3.0], [4.0]], "float32")

    @tf.function
    def summed():
        return accumulate(gradients_of, ({"row": rows}, factors), 4)

    [found], share = summed()
    np.testing.assert_array_equal(found[:, 0], [1, 5, 0, 0, 4])
    assert float(share) == 1.0


def test_a_keras_that_sums_elsewhere_is_refused():
    with pytest.raises(RuntimeError, match="and would sum them twice"):
        _turn_own_reduction_off(object())


def test_keras_still_sums_where_we_turn_it_off():
    """Canary for `_all_reduce_sum_gradients`."""
    inner = keras.optimizers.SGD()
    for optimizer in (inner, keras.optimizers.LossScaleOptimizer(inner)):
        _turn_own_reduction_off(optimizer)
        given = [("gradient", "variable")]
        assert inner._all_reduce_sum_gradients(given) is given


@pytest.mark.parametrize("exact", [False, True])
def test_gradients_are_divided_by_the_share_of_the_full_batch_that_is_there(exact):
    network = model()
    update = GradientUpdate(alone(), keras.optimizers.SGD(1.0), network, exact=exact)
    update([tf.fill([3, 1], 0.1), tf.fill([1], 0.2)], tf.constant(0.5), tf.constant(0.0))
    kernel, bias = (v.numpy().ravel() for v in network.trainable_variables)
    np.testing.assert_allclose(kernel, 1 - 0.1 * (2 if exact else 1))
    np.testing.assert_allclose(bias, -0.2 * (2 if exact else 1))


def test_a_request_to_stop_comes_back():
    network = model()
    update = GradientUpdate(alone(), keras.optimizers.SGD(1.0), network)
    gradients = [tf.zeros([3, 1]), tf.zeros([1])]
    assert update(gradients, tf.constant(1.0), tf.constant(1.0)) > 0


@pytest.mark.parametrize("compiles", [None, False, True])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_gradients_of_parts_add_up_to_those_of_the_whole(parts, compiles):
    random = np.random.default_rng(0)
    x, y = (tf.constant(random.normal(size=(8, k)), tf.float32) for k in (3, 1))
    weights = tf.ones([8])
    kernel = tf.Variable(tf.ones([3, 1]))

    def gradients_of(x, y, weights):
        with tf.GradientTape() as tape:
            errors = tf.square(x @ kernel - y)[:, 0]
            loss = tf.reduce_sum(errors * weights) / 8
        return [tape.gradient(loss, kernel)], tf.reduce_sum(weights) / 8

    def summed():
        return accumulate(gradients_of, (x, y, weights), parts)

    function = summed if compiles is None else tf.function(summed, jit_compile=compiles)
    [found], share = function()
    [whole], _ = gradients_of(x, y, weights)
    np.testing.assert_allclose(found, whole, rtol=1e-6)
    assert float(share) == 1.0


def test_loss_scaling_comes_with_float16_alone():
    optimizer = keras.optimizers.SGD()
    assert scaled(optimizer, "mixed_bfloat16") is optimizer
    assert scaled(optimizer, "float32", None) is optimizer
    assert scaled(optimizer, "float32", "float16").inner_optimizer is optimizer
    with pytest.raises(ValueError, match=r"A loss scale needs mixed_float16 .* got 2.0"):
        scaled(optimizer, "mixed_bfloat16", "bfloat16", scale=2.0)
    dynamic, fixed = (
        scaled(keras.optimizers.SGD(), "mixed_float16", scale=s) for s in (None, 128.0)
    )
    assert (dynamic.initial_scale, dynamic.dynamic_growth_steps) == (2.0**15, 2000)
    assert fixed.initial_scale == 128
    assert fixed.dynamic_growth_steps > 1e9
