"""CPU time that our callbacks add to the training thread for each execution.

    python benchmarks/hot_path.py [--repeats 7] [--steps 20000]

What: `fit` on a model whose train function is a Python function that returns the same logs at
once, so that nothing but Keras's loop, the callbacks and we take time. The figure that counts is
what is added over a do-nothing batch hook.

How: the thread's own CPU time of the second of two epochs, which other programs' load changes less
than wall time. Each repeat runs every variant once; "added" is the median of the differences within
a repeat.

Not in it: what the sampler's thread takes from the training by holding the interpreter, and trials
and captures; `benchmarks/overhead.py` has the former.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import result
import tensorflow as tf

import keras_perf as kp

OUT_OF_REACH = {"skip_first": 10**9}
EPOCHS = 2


class DoNothing(keras.callbacks.Callback):
    """Has a batch hook."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Does nothing."""


class Stopwatch(keras.callbacks.Callback):
    """Times the newest epoch."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts."""
        self.seconds = -time.thread_time()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stops."""
        self.seconds += time.thread_time()


VARIANTS: dict[str, Callable[[str], list[keras.callbacks.Callback]]] = {
    "do-nothing batch hook": lambda d: [DoNothing()],
    "WindowedProfiler, outside its window": lambda d: [kp.WindowedProfiler(d, **OUT_OF_REACH)],
    "GPUUtilizationSampler": lambda d: [kp.GPUUtilizationSampler(d)],
    "StepGapDetector": lambda d: [kp.StepGapDetector(d)],
    "perf_callbacks, all four": lambda d: kp.perf_callbacks(d, profiler=OUT_OF_REACH),
}


def microseconds(model: keras.Model, data: tf.data.Dataset, variant: str, steps: int) -> float:
    """CPU time of an execution in the training thread."""
    logs = {"loss": np.float32(1.0)}
    model.train_function = lambda iterator: logs
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [watch, *VARIANTS[variant](folder)]
        model.fit(data, steps_per_epoch=steps, epochs=EPOCHS, verbose=0, callbacks=callbacks)
    return watch.seconds / steps * 1e6


def main() -> None:
    """Prints a line a variant."""
    parser = result.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    logging.getLogger("keras_perf").setLevel(logging.ERROR)
    result.begin()
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    batch = np.zeros((8, 8), "float32")
    data = tf.data.Dataset.from_tensors((batch, batch[:, :1])).repeat()
    model.fit(data, steps_per_epoch=3, verbose=0)
    found: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for _ in range(arguments.repeats):
        for variant, times in found.items():
            times.append(microseconds(model, data, variant, arguments.steps))
    base = found["do-nothing batch hook"]
    rows = result.Table()
    for variant, times in found.items():
        added = median(mine - theirs for mine, theirs in zip(times, base, strict=True))
        rows.add(variant=variant, execution_us=median(times), added_us=added)
    result.keep(arguments.json, cpu_time=rows)


if __name__ == "__main__":
    main()
