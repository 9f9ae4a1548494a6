"""Models for another process, which reads them by name."""

import keras
import numpy as np


@keras.saving.register_keras_serializable("tests")
def own_loss(y, predicted):
    return keras.ops.mean(keras.ops.square(y - predicted))


class Wide(keras.layers.Layer):
    """Holds 64 KiB an example, and more for the gradient; registered nowhere."""

    def call(self, x):
        return keras.ops.sum(keras.ops.tanh(keras.ops.repeat(x, 2**11, axis=1)), -1, keepdims=True)


def dataset(batch_size=16):
    import tensorflow as tf

    x = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(batch_size)


def model(last=None, loss="mse", **arguments):
    keras.utils.set_random_seed(1)
    last = last or keras.layers.Dense(1)
    network = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(8), last])
    arguments.setdefault("jit_compile", False)
    network.compile(keras.optimizers.SGD(1e-3, momentum=0.9), loss, **arguments)
    return network
