"""Small models and data for real fits."""

import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.common import global_state
from packaging.version import Version

STEPS_ON_BATCHES = Version(keras.__version__) >= Version("3.16.0.dev2026102700")
"""Keras calls a traced step with each batch, so that another shape is traced again. Before, its
train function took an iterator, and only XLA compiled for the shape."""

needs_gap_times = pytest.mark.skipif(
    not hasattr(tf.data.experimental, "get_model_proto"),
    reason="this TensorFlow does not tell tf.data's gap times",
)


def arrays(batches=40, batch_size=8, features=8):
    random = np.random.default_rng(0)
    x = random.normal(size=(batches * batch_size, features)).astype("float32")
    return x, x.sum(axis=1, keepdims=True)


def dataset(
    batches=40, batch_size=8, *, input_ms=0.0, slept=None, shuffle=False, drop_remainder=False
):
    """Batches of 8 examples.

    Arguments:
        input_ms: is slept for each batch in a stage of its own.
        slept: a list for the milliseconds that each of these waits really took.
    """
    data = tf.data.Dataset.from_tensor_slices(arrays(batches, batch_size))
    if shuffle:
        data = data.shuffle(64, seed=3)
    data = data.batch(batch_size, drop_remainder=drop_remainder)
    if input_ms:

        def sleep(x, y):
            def wait(values):
                begin = time.perf_counter()
                time.sleep(input_ms / 1e3)
                if slept is not None:
                    slept.append(1e3 * (time.perf_counter() - begin))
                return values

            return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape), y

        data = data.map(sleep)
    return data


def unbuffered(data):
    """Without the prefetch that tf.data adds by itself: a step waits for all of its batch."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return data.with_options(options)


def labelled(batches):
    """The same with classes 0 and 1 to tell apart."""
    return dataset(batches).map(lambda x, y: (x, tf.cast(y[:, 0] > 0, tf.int32)))


def set_random_seed(seed):
    """Also that of `keras.random`, which Keras before 3.10 leaves as it is."""
    keras.utils.set_random_seed(seed)
    global_state.set_global_attribute("global_seed_generator", None)


def model(*, dropout=False, optimizer=None, **compile_arguments):
    """A tiny MLP from a fixed seed.

    Its usual optimizer keeps state, as Adam does, and is traced in a third of the time: its
    operations are few, and its variables are there, so that TensorFlow traces once.
    """
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu")]
    if dropout:
        layers.append(keras.layers.Dropout(0.5, seed=5))
    network = keras.Sequential([*layers, keras.layers.Dense(1)])
    compile_arguments.setdefault("jit_compile", False)
    usual = optimizer is None
    if usual:
        optimizer = keras.optimizers.SGD(1e-3, momentum=0.9)
    network.compile(optimizer, "mse", **compile_arguments)
    if usual:
        network.optimizer.build(network.trainable_variables)
    return network


def usual_step_ms(**compile_arguments):
    """What a step takes here and now with nothing injected, by a clock of its own."""
    network, data = model(**compile_arguments), dataset(60)
    network.fit(data, verbose=0, shuffle=False)
    begin = time.perf_counter()
    network.fit(data, verbose=0, shuffle=False)
    return 1e3 * (time.perf_counter() - begin) / 60


class Sleeper(keras.callbacks.Callback):
    """Sleeps in its batch hook."""

    def __init__(self, ms):
        super().__init__()
        self.ms = ms

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.ms / 1e3)


def paused_step_ms(**compile_arguments):
    """What it takes where each comes after a pause, as one does that waits for its input.

    A processor that has rested is slower, and memory may be slow to touch again.
    """
    network, data, took_ms = model(**compile_arguments), dataset(20), []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            time.sleep(0.02)
            self.begin = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            took_ms.append(1e3 * (time.perf_counter() - self.begin))

    for _ in range(2):
        network.fit(data, verbose=0, shuffle=False, callbacks=[Clock()])
    return float(np.median(took_ms[len(took_ms) // 2 :]))


class Outlasts(keras.callbacks.Callback):
    """Sleeps after each execution so many times as long as it took, on whatever machine.

    Not after the first one, which is traced; `slept_ms` is how long each sleep really was.
    """

    def __init__(self, times):
        super().__init__()
        self.times, self.slept_ms = times, []

    def on_train_begin(self, logs=None):
        self.begin = None

    def on_train_batch_begin(self, batch, logs=None):
        self.begin = None if self.begin is None else time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        end = time.perf_counter()
        time.sleep(0.0 if self.begin is None else self.times * (end - self.begin))
        self.begin = time.perf_counter()
        self.slept_ms.append(1e3 * (self.begin - end))


class Stalls(keras.callbacks.Callback):
    """Sleeps once, for as long as twenty executions before it took, on whatever machine.

    In one epoch, after this batch or the next of which Keras tells. `slept_ms` is how long it
    really was.
    """

    def __init__(self, batch, epoch):
        super().__init__()
        self.when, self.ends, self.slept_ms = (epoch, batch), [], 0.0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        self.ends.append(time.perf_counter())
        if self.when and (self.epoch, batch) >= self.when:
            self.when = None
            time.sleep(max(0.06, 20 * np.median(np.diff(self.ends))))
            self.slept_ms = 1e3 * (time.perf_counter() - self.ends[-1])


class Diary(keras.callbacks.Callback):
    """Writes down every hook it is given; declares that it only looks."""

    async_safe = True

    def __init__(self):
        super().__init__()
        self.entries = []

    def on_train_batch_begin(self, batch, logs=None):
        self.entries.append(("begin", batch))

    def on_train_batch_end(self, batch, logs=None):
        self.entries.append(("end", batch))

    def on_epoch_end(self, epoch, logs=None):
        self.entries.append(("epoch", epoch))

    def on_test_begin(self, logs=None):
        self.entries.append(("test", None))


class Batches(keras.utils.PyDataset):
    """The same data as a PyDataset."""

    def __init__(self, batches=40, batch_size=8):
        super().__init__()
        self.x, self.y = arrays(batches, batch_size)
        self.batch_size = batch_size

    def __len__(self):
        return len(self.x) // self.batch_size

    def __getitem__(self, index):
        rows = slice(index * self.batch_size, (index + 1) * self.batch_size)
        return self.x[rows], self.y[rows]


def generator(batches=40, batch_size=8):
    """The same data, without end, from a Python generator."""
    source = Batches(batches, batch_size)
    while True:
        for index in range(len(source)):
            yield source[index]
