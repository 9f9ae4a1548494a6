"""Which parameters stand before all that is trained and all that is random."""

import keras
import pytest

from keras_perf.observation.facts.frozen_layers import frozen_in_front

layers = keras.layers
OF_DENSE = 4 * 4 + 4


def dense(*, trained=False):
    return layers.Dense(4, trainable=trained)


def base(*last):
    inside = keras.Sequential([keras.Input((4,)), dense(), dense(), *last])
    inputs = keras.Input((4,))
    return keras.Model(inputs, dense(trained=True)(inside(inputs, training=False)))


@pytest.mark.parametrize(
    ("before_the_trained_one", "found"),
    [
        ([], 0),
        ([dense], OF_DENSE),
        ([dense, dense], 2 * OF_DENSE),
        ([dense, lambda: layers.Dropout(0.5), dense], OF_DENSE),
        ([lambda: layers.GaussianNoise(0.1), dense], 0),
        ([dense, lambda: layers.Dropout(0.0), dense], 2 * OF_DENSE),
    ],
)
def test_layers_count_up_to_the_first_that_is_trained_or_random(before_the_trained_one, found):
    before = [make() for make in before_the_trained_one]
    last = [dense(trained=True), dense()]
    assert frozen_in_front(keras.Sequential([keras.Input((4,)), *before, *last])) == found


def test_layers_of_a_model_in_the_model_count_too():
    assert frozen_in_front(base()) == 2 * OF_DENSE
    assert frozen_in_front(base(dense(trained=True))) == 2 * OF_DENSE


def test_where_nothing_is_trained_or_the_order_is_not_told_none_count():
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = dense(), dense(trained=True)

        def call(self, x):
            return self.second(self.first(x))

    own = Own()
    assert frozen_in_front(own) == 0
    own(keras.ops.ones((2, 4)))
    assert frozen_in_front(own) == 0
    assert frozen_in_front(keras.Sequential([keras.Input((4,)), dense()])) == 0
    assert frozen_in_front(keras.Sequential([dense(), dense(trained=True)])) == 0


class Own(layers.Layer):
    def call(self, x):
        return x


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Lambda(lambda x: x),
        lambda: layers.BatchNormalization(center=False, scale=False),
        # Older Keras has no such layer.
        lambda: getattr(layers, "Pipeline", keras.Sequential)([layers.GaussianNoise(0.1)]),
        lambda: keras.Sequential([layers.Dropout(0.5)]),
        Own,
    ],
)
def test_what_may_differ_from_epoch_to_epoch_ends_the_count(make):
    model = keras.Sequential([keras.Input((4,)), make(), dense(), dense(trained=True)])
    assert frozen_in_front(model) == 0


def test_a_layer_in_two_places_counts_once():
    inputs, once = keras.Input((4,)), dense()
    both = [keras.Model(x := keras.Input((4,)), once(x)) for _ in range(2)]
    together = layers.Add()([model(inputs) for model in both])
    assert frozen_in_front(keras.Model(inputs, dense(trained=True)(together))) == OF_DENSE


def test_looking_rows_up_is_next_to_no_work():
    looked_up = layers.Embedding(9, 4, trainable=False)
    model = keras.Sequential(
        [keras.Input((3,), dtype="int32"), looked_up, layers.Flatten(), layers.Dense(1)]
    )
    assert frozen_in_front(model) == 0
