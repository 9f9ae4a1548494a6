"""Microseconds that our callbacks add to a training step of Keras on JAX.

    python benchmarks/other_backends/overhead_on_jax.py [--repeats 40] [--steps 700]

What: `fit` on a tiny model with nothing, with a batch hook that does nothing and may be called late
(`async_safe`, so that Keras goes on preparing steps while the device computes), with each of our
callbacks and with all four. The figure that counts is what is added over that hook. Whether the
weights are the same bit for bit as without any callback stands beside it.

How: a run is one `fit` of 6 epochs on the same compiled model and data, from the same variables;
each repeat runs every variant once, shuffled. A step's time is the wall time of an epoch over its
steps, of epochs 2 to 6, taken by a callback with epoch hooks only; "added" is the difference of the
medians of all epochs, with an interval of 95% (a bootstrap of repeats).

Not in it: what happens once a `fit`; and the profiler's window, which is out of reach.
"""

from __future__ import annotations

import gc
import logging
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1]))

import added_to_a_step
import result

if result.installed("jax") is None:
    print("JAX is not installed.")
    sys.exit(result.NOTHING_TO_MEASURE)

import keras
import numpy as np

import keras_perf as kp

EPOCHS = 6
OUT_OF_REACH = {"skip_first": 10**9}
BATCH = 32


class DoNothing(keras.callbacks.Callback):
    """Has a batch hook."""

    async_safe = True

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Does nothing."""


class Stopwatch(keras.callbacks.Callback):
    """Times every epoch but the first."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self._begin = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts."""
        self._begin = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stops."""
        if epoch:
            self.seconds.append(time.perf_counter() - self._begin)


BASE = "do-nothing batch hook"
VARIANTS: dict[str, Callable[[str], list[keras.callbacks.Callback]]] = {
    "no callback": lambda d: [],
    BASE: lambda d: [DoNothing()],
    "WindowedProfiler, outside its window": lambda d: [kp.WindowedProfiler(d, **OUT_OF_REACH)],
    "GPUUtilizationSampler": lambda d: [kp.GPUUtilizationSampler(d)],
    "StepGapDetector": lambda d: [kp.StepGapDetector(d, summary=False)],
    "perf_callbacks, all four": lambda d: [
        *kp.perf_callbacks(d, profiler=OUT_OF_REACH, summary=False)
    ],
}


class Training:
    """A small Dense network that begins each `fit` with the same variables.

    Arguments:
        steps: of an epoch.
    """

    def __init__(self, steps: int) -> None:
        keras.utils.set_random_seed(0)
        layers = [keras.layers.Dense(64, activation="relu") for _ in range(2)]
        self._model = keras.Sequential([keras.Input((32,)), *layers, keras.layers.Dense(1)])
        self._model.compile("adam", "mse")
        x = np.random.default_rng(0).normal(size=(steps * BATCH, 32)).astype("float32")
        self._x, self._steps = x, steps
        self._model.optimizer.build(self._model.trainable_variables)
        self._variables = [*self._model.variables, *self._model.optimizer.variables]
        self._first = [keras.ops.convert_to_numpy(each).copy() for each in self._variables]

    def run(self, callbacks: list[Any]) -> tuple[list[float], list[np.ndarray]]:
        """Microseconds a step in each epoch, and the weights."""
        for variable, value in zip(self._variables, self._first, strict=True):
            variable.assign(value)
        gc.collect()
        watch = Stopwatch()
        self._model.fit(
            self._x,
            self._x[:, :1],
            batch_size=BATCH,
            epochs=EPOCHS,
            verbose=0,
            shuffle=False,
            callbacks=[watch, *callbacks],
        )
        epochs_us = [seconds / self._steps * 1e6 for seconds in watch.seconds]
        return epochs_us, self._model.get_weights()


def measure(repeats: int, steps: int) -> result.Table:
    """A row a variant."""
    training = Training(steps)
    training.run([])  # compiles
    _, without = training.run([])
    runs: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
    same = dict.fromkeys(VARIANTS, True)
    for repeat in range(repeats):
        order = list(VARIANTS)
        random.Random(repeat).shuffle(order)
        for name in order:
            with tempfile.TemporaryDirectory() as log_dir:
                epochs_us, weights = training.run(VARIANTS[name](log_dir))
            runs[name].append(epochs_us)
            same[name] &= all(map(np.array_equal, without, weights))
    return added_to_a_step.table(runs, BASE, same_weights=same)


def main() -> None:
    """Measures and prints; ends with 1 where a weight differs."""
    parser = result.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=40, help="runs of each variant")
    parser.add_argument("--steps", type=int, default=700, help="steps an epoch")
    arguments = parser.parse_args()
    logging.getLogger("keras_perf").setLevel(logging.ERROR)
    result.begin()
    rows = measure(arguments.repeats, arguments.steps)
    result.keep(arguments.json, added=rows)
    if not all(row["same_weights"] for row in rows):
        sys.exit("weights differ from those without callbacks")


if __name__ == "__main__":
    main()
