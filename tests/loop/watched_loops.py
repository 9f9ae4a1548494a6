"""A small custom loop, and what a test may want of it."""

import time
from statistics import median

import keras
import numpy as np
import tensorflow as tf
from programs import unbuffered

from keras_perf.loop import LoopMonitor
from keras_perf.records.run.times.exchange import ExchangeTotals


def dataset(batch_size=8, *, input_ms=0.0, slept=None):
    """Endless batches.

    `input_ms` is slept for each in a stage of its own when the step asks for it, and kept in
    `slept`.
    """
    x = np.random.default_rng(0).normal(size=(320, 8)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True)))
    data = data.batch(batch_size).repeat()
    if input_ms:

        def sleep(x, y):
            def wait(values):
                begin = time.perf_counter()
                time.sleep(input_ms / 1e3)
                if slept is not None:
                    slept.append(1e3 * (time.perf_counter() - begin))
                return values

            return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape), y

        data = unbuffered(data.map(sleep))
    return data


class Loop:
    """A tiny MLP, and a `tf.function` that runs as many steps as it is told."""

    def __init__(self):
        keras.utils.set_random_seed(1)
        layers = keras.layers
        self.model = keras.Sequential(
            [layers.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(1)]
        )
        self.optimizer = keras.optimizers.SGD(1e-3, momentum=0.9)
        self.optimizer.build(self.model.trainable_variables)
        self.function = tf.function(self._steps)

    def _steps(self, iterator, steps):
        loss = 0.0
        for _ in tf.range(steps):
            x, y = next(iterator)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x, training=True) - y) ** 2)
            variables = self.model.trainable_variables
            self.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    def monitor(self, log_dir, steps=None, **arguments):
        """With nothing on but the split, unless it is asked for."""
        off = {"profiler": False, "gpu": False, "steps_per_execution": False}
        settings = {"model": self.model, "steps": steps, "function": self.function, **off}
        return LoopMonitor(log_dir, **{**settings, **arguments})

    def train(self, monitor, steps, *, n=1, every=None, data=None, between=None, host=None):
        """So many steps; every so many of them `between` is called, after each call `host`."""
        iterator = iter(dataset() if data is None else data)
        every = every or steps
        step, calls = 0, []
        with monitor:
            while step < steps:
                left = min(every - step % every, steps - step)
                with monitor.execution(iterator, min(n, left), left=left) as call:
                    call.returned(self.function(iterator, tf.constant(call.steps))).numpy()
                step += call.steps
                calls.append(call.steps)
                if host is not None:
                    with monitor.host("print"):
                        host(step)
                if between is not None and step % every == 0:
                    between(step)
        return calls


def usual_step_ms(n=1):
    """What a step takes here and now, in calls of `n`, with nothing injected."""
    loop, iterator, steps = Loop(), iter(dataset()), tf.constant(n)
    loop.function(iterator, steps)
    begin = time.perf_counter()
    for _ in range(40):
        loop.function(iterator, steps).numpy()
    return 1e3 * (time.perf_counter() - begin) / (40 * n)


def step_after_a_pause_ms():
    """What one takes of which each comes after a pause: a processor that has rested is slower."""
    loop, iterator, one, took_ms = Loop(), iter(dataset()), tf.constant(1), []
    for _ in range(10):
        time.sleep(0.02)
        begin = time.perf_counter()
        loop.function(iterator, one).numpy()
        took_ms.append(1e3 * (time.perf_counter() - begin))
    return median(took_ms)


class ScriptedExchange:
    """Workers that are busy for so many milliseconds in every step; the wire takes some more.

    Stands in for the exchange of worker `rank`, which counts a step for every call of `step`.
    """

    def __init__(self, rank, busy_ms, wire_ms, size_bytes=4_000_000):
        self.rank, self.busy_ms, self.wire_ms, self.size = rank, busy_ms, wire_ms, size_bytes
        self.steps = self.pauses = 0

    def pause(self):
        self.pauses += 1

    def totals(self):
        slowest = max(self.busy_ms)
        own = slowest - self.busy_ms[self.rank] + self.wire_ms
        seconds = self.steps / 1e3
        return ExchangeTotals(
            steps=self.steps,
            own_s=own * seconds,
            busy_s=tuple(ms * seconds for ms in self.busy_ms),
            slowest_s=slowest * seconds,
            rank=self.rank,
            bytes_per_step=self.size,
        )
