"""What each epoch of `fit` waits for the end of the last iterator, and what helps.

    python benchmarks/iterator_ends.py [--rounds 3] [--epochs 8]

What: a dense model on 8,000 examples, that a map prepares, are shuffled, batched and prefetched,
with a validation on half as many: an epoch as `fit` makes it, with one iterator for all epochs
(`repeat()` and `steps_per_epoch`), and without tf.data's autotuning in one or both of the two
datasets; and with a validation on a quarter of its batches, by `validation_steps` and by `take`.
Printed is a row each: milliseconds of an epoch, of them those from an epoch's begin to
its first step, and the longest of these; what lies before the first epoch's is left out. All of
it is done on the cores alone, and again beside a process that only counts.

How: trainings of all kinds in turn, in one process; medians over rounds. How often an end is
waited for is chance, and differs with what else uses the cores; how long, with how long the
iterator lived.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import keras
import numpy as np
import result
import tensorflow as tf

EXAMPLES, BATCH = 8000, 32

PART = EXAMPLES // 2 // BATCH // 4
"""A quarter of the batches of a validation."""

Times = tuple[float, float, float]
"""Milliseconds of an epoch, until its first step, and the longest of the latter."""


class Begins(keras.callbacks.Callback):
    """When epochs began, and how long each first step was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[float] = []
        self.waited_ms: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """The next one."""
        self.begun.append(time.perf_counter())

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Its first step, or a later one."""
        if len(self.waited_ms) < len(self.begun):
            self.waited_ms.append(1e3 * (time.perf_counter() - self.begun[-1]))


def examples(share: int) -> tf.data.Dataset:
    """Prepared by a map, in batches."""
    random = np.random.default_rng(0)
    x = random.random((EXAMPLES // share, 64), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1]))
    data = data.map(lambda x, y: (tf.sin(x), y), num_parallel_calls=tf.data.AUTOTUNE)
    return data.shuffle(EXAMPLES).batch(BATCH).prefetch(tf.data.AUTOTUNE)


def untuned(data: tf.data.Dataset) -> tf.data.Dataset:
    """Without autotuning."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return data.with_options(options)


def training(epochs: int, change: Callable[[Any, Any], tuple[Any, Any]], **fit: Any) -> Times:
    """Trains a new model on what a change makes of both datasets."""
    model = keras.Sequential(
        [keras.Input((64,)), keras.layers.Dense(256, "relu"), keras.layers.Dense(1)]
    )
    model.compile("sgd", "mse", jit_compile=False)
    data, validation = change(examples(1), examples(2))
    begins = Begins()
    model.fit(
        data, epochs=epochs + 2, verbose=0, validation_data=validation, callbacks=[begins], **fit
    )
    # The first epoch traces, and the last one's begin is where all others have ended.
    epoch_ms = 1e3 * (begins.begun[-1] - begins.begun[1]) / epochs
    waited_ms = begins.waited_ms[1:]
    return epoch_ms, fmean(waited_ms), max(waited_ms)


KINDS: dict[str, tuple[Callable[[Any, Any], tuple[Any, Any]], dict[str, int]]] = {
    "as it is": (lambda data, validation: (data, validation), {}),
    "one iterator": (
        lambda data, validation: (data.repeat(), validation),
        {"steps_per_epoch": EXAMPLES // BATCH},
    ),
    "validation without autotuning": (lambda data, validation: (data, untuned(validation)), {}),
    "one iterator, and validation without autotuning": (
        lambda data, validation: (data.repeat(), untuned(validation)),
        {"steps_per_epoch": EXAMPLES // BATCH},
    ),
    "validation_steps": (lambda data, validation: (data, validation), {"validation_steps": PART}),
    "take for validation": (lambda data, validation: (data, validation.take(PART)), {}),
    "both without autotuning": (
        lambda data, validation: (untuned(data), untuned(validation)),
        {},
    ),
}


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result.begin()
    table = result.Table()
    for others in (0, 1):
        with beside(others):
            add_rows(table, others, arguments.rounds, arguments.epochs)
    result.keep(arguments.json, epochs=table)


@contextmanager
def beside(others: int) -> Iterator[None]:
    """While so many processes count."""
    command = [sys.executable, "-c", "while True: pass"]
    counting = [subprocess.Popen(command) for _ in range(others)]
    try:
        yield
    finally:
        for each in counting:
            each.kill()
            each.wait()


def add_rows(table: result.Table, others: int, rounds: int, epochs: int) -> None:
    """A row a kind."""
    found: dict[str, list[Times]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind, (change, fit) in KINDS.items():
            found[kind].append(training(epochs, change, **fit))
    for kind, times in found.items():
        epoch_ms, waited_ms, longest_ms = zip(*times, strict=True)
        table.add(
            what=kind,
            counting_processes=others,
            epoch_ms=median(epoch_ms),
            until_first_step_ms=median(waited_ms),
            longest_ms=max(longest_ms),
        )


if __name__ == "__main__":
    main()
