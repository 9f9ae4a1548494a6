"""Trainings that run out of memory, or that are killed: jobs of `Nursery`."""

import os
import signal
import time

import keras
import numpy as np
import programs
import tensorflow as tf

import keras_perf as kp
from keras_perf.observers.steps_trial import steps_to_try

LARGE, KEPT_AT, ENDS_AT = 1e6, 200, 450


class Huge(keras.layers.Layer):
    """Wants 8 TiB for each example of a batch."""

    def call(self, x):
        rows = tf.shape(x)[0]
        return x + 0 * tf.reduce_sum(tf.random.uniform([rows, 1 << 20, 1 << 21]))


class HugeAt(keras.layers.Layer):
    """Wants 8 TiB for each example of a batch whose first number is large."""

    def call(self, x):
        rows = tf.shape(x)[0]
        large = tf.reduce_max(x) > LARGE
        return x + 0 * tf.cond(
            large, lambda: tf.reduce_sum(tf.random.uniform([rows, 1 << 20, 1 << 21])), lambda: 0.0
        )


class Keeps(keras.callbacks.Callback):
    """A step takes a while, and behind one of them 800 MiB more are held."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.004)
        if batch == KEPT_AT:
            self.kept = np.ones(800 << 17)


def runs_out(layer, data, callbacks):
    """Trains until memory runs out.

    Raises:
        AssertionError: if it does not.
    """
    network = keras.Sequential([keras.layers.Input((8,)), layer, keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    try:
        network.fit(data, verbose=0, shuffle=False, callbacks=callbacks)
    except tf.errors.ResourceExhaustedError:
        return
    raise AssertionError("the training came to its end")


def at_once(rank, folder, log_dir):
    """In the first step."""
    callbacks = [kp.StepGapDetector(log_dir), kp.GPUUtilizationSampler(log_dir)]
    runs_out(Huge(), programs.dataset(5), callbacks)


def late(rank, folder, log_dir):
    """After `ENDS_AT` steps; memory rose behind step `KEPT_AT`."""
    x, y = programs.arrays(500)
    x[8 * ENDS_AT] = 2 * LARGE
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    callbacks = [Keeps(), kp.StepGapDetector(log_dir), kp.GPUUtilizationSampler(log_dir)]
    runs_out(HugeAt(), data, callbacks)


def killed(rank, folder, log_dir):
    """By a signal, 200 steps after the recommender has tried its lengths."""
    steps_to_try.SMALL_COST_S = 100
    recommender = kp.StepsPerExecutionRecommender(log_dir)

    class Dies(keras.callbacks.Callback):
        async_safe = True
        left = 200

        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.004)
            self.left -= recommender.recommendation is not None
            if not self.left:
                os.kill(os.getpid(), signal.SIGKILL)

    ours = kp.StepGapDetector(log_dir), kp.GPUUtilizationSampler(log_dir), recommender
    data = programs.dataset(2000)
    programs.model().fit(data, verbose=0, shuffle=False, callbacks=[Dies(), *ours])
