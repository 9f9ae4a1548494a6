"""Microseconds that each callback adds to a training step.

    python benchmarks/overhead.py [--repeats 30] [--steps 900]

What: `fit` on a tiny model (steps of well under a millisecond) with nothing, with a do-nothing
batch hook, with each callback of keras_perf, with the four together and with Keras's TensorBoard
at every batch. The figure that counts is what is added over the do-nothing batch hook.

How: a run is one `fit` of 6 epochs on the same compiled model and data; each repeat runs every
variant once, shuffled. A step's time is the wall time of an epoch over its steps, of epochs 2 to 6;
"added" is the difference of the medians of all epochs, with an interval of 95% (a bootstrap of
repeats). It is taken by a callback with epoch hooks only: nothing is added to any step, and as an
epoch takes half a second or more, what happens only now and then (a point twice a second, a sample
of the sensors, a look at tf.data's model) is in it. On a virtual machine whose host does other
things epochs differ by a tenth: 30 repeats tell 20 microseconds.

Not in it: what happens once a `fit`. The first epoch holds warm-up and the recommender's trials
(which replace single steps; the script stops if they are not over by its end), and TensorBoard
writes no graph. The profiler's window is out of reach: captured steps carry the profiler's cost.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import tempfile
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import added_to_a_step
import keras
import numpy as np
import result
import tensorflow as tf

import keras_perf as kp

EPOCHS = 6
OUT_OF_REACH = 10**9
LONGEST_TRIAL = 32
"""So that the trials are over within the first epoch, which is not timed."""


class DoNothing(keras.callbacks.Callback):
    """Has a batch hook."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Does nothing."""


class Stopwatch(keras.callbacks.Callback):
    """Times every epoch but the first."""

    def __init__(self, others: list[keras.callbacks.Callback]) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._begin = 0.0
        self._trying = [c for c in others if isinstance(c, kp.StepsPerExecutionRecommender)]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts; refuses to time trials."""
        if epoch and not all(c.recommendation and c.recommendation.evidence for c in self._trying):
            raise SystemExit("the first epoch was too short for the trials: raise --steps")
        self._begin = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stops."""
        if epoch:
            self.seconds.append(time.perf_counter() - self._begin)


VARIANTS: dict[str, Callable[[str], list[keras.callbacks.Callback]]] = {
    "no callback": lambda d: [],
    "do-nothing batch hook": lambda d: [DoNothing()],
    "WindowedProfiler, outside its window": lambda d: [
        kp.WindowedProfiler(d, skip_first=OUT_OF_REACH)
    ],
    "GPUUtilizationSampler": lambda d: [kp.GPUUtilizationSampler(d)],
    "StepGapDetector": lambda d: [kp.StepGapDetector(d, summary=False)],
    "StepsPerExecutionRecommender, trials over": lambda d: [
        kp.StepsPerExecutionRecommender(d, limit=LONGEST_TRIAL)
    ],
    "perf_callbacks, all four": lambda d: [
        *kp.perf_callbacks(
            d,
            profiler={"skip_first": OUT_OF_REACH},
            steps_per_execution={"limit": LONGEST_TRIAL},
            summary=False,
        )
    ],
    'TensorBoard(update_freq="batch")': lambda d: [
        keras.callbacks.TensorBoard(d, update_freq="batch", write_graph=False)
    ],
}
BASE = "do-nothing batch hook"


def model_and_data() -> tuple[keras.Model, tf.data.Dataset]:
    """A small Dense network and an endless dataset of batches of 32."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(64, activation="relu") for _ in range(2)]
    model = keras.Sequential([keras.Input((32,)), *layers, keras.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=False)
    x = np.random.default_rng(0).normal(size=(1024, 32)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(32).cache().repeat()
    return model, data.prefetch(2)


def fit(model: keras.Model, data: tf.data.Dataset, steps: int, callbacks: list[Any]) -> None:
    """Trains without a word."""
    options = {"epochs": EPOCHS, "steps_per_epoch": steps, "verbose": 0, "shuffle": False}
    model.fit(data, callbacks=callbacks, **options)


def epochs_us(model: keras.Model, data: tf.data.Dataset, steps: int, variant: str) -> list[float]:
    """One run: microseconds a step in each epoch."""
    gc.collect()
    with tempfile.TemporaryDirectory() as log_dir:
        callbacks = VARIANTS[variant](log_dir)
        watch = Stopwatch(callbacks)
        fit(model, data, steps, [watch, *callbacks])
    return [seconds / steps * 1e6 for seconds in watch.seconds]


def measure(repeats: int, steps: int) -> result.Table:
    """A row a variant."""
    model, data = model_and_data()
    order = list(VARIANTS)
    fit(model, data, steps, [])  # traces, warms up
    runs: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
    for repeat in range(repeats):
        random.Random(repeat).shuffle(order)
        for name in order:
            runs[name].append(epochs_us(model, data, steps, name))
    return added_to_a_step.table(runs, BASE)


def main() -> None:
    """Measures and prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=30, help="runs of each variant")
    parser.add_argument(
        "--steps", type=int, default=900, help="steps an epoch; enough for the trials"
    )
    arguments = parser.parse_args()
    logging.getLogger("keras_perf").setLevel(logging.ERROR)
    result.begin()
    result.keep(arguments.json, added=measure(arguments.repeats, arguments.steps))


if __name__ == "__main__":
    main()
