"""What a batch hook costs that reads `self.model` on Keras's JAX backend.

    python benchmarks/other_backends/reading_the_model_on_jax.py [--turns 4]

What: milliseconds that a step is longer with such a hook at a batch's end than with one that reads
the logs, beside what handing the state back takes in the hook, as `state_reads_s` has it, for
models of few and of many variables. The rest of the difference is collecting the state for the next
step.

How: epochs of 150 steps on one compiled model, with each hook in turn; the medians of all turns.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ["KERAS_BACKEND"] = "jax"
sys.path.insert(0, str(Path(__file__).parents[1]))

import result

if result.installed("jax") is None:
    print("JAX is not installed.")
    sys.exit(result.NOTHING_TO_MEASURE)

import keras
import numpy as np

import keras_perf as kp

MODELS = ((4, 16), (30, 16), (30, 128), (100, 32), (6, 512))
"""Layers, and their width."""

ROWS, STEPS = 64, 150


class Looks(keras.callbacks.Callback):
    """Reads the logs of each step."""

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Training waits for it."""
        self.seen = logs


class Touches(Looks):
    """And the model."""

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Its state is handed back."""
        self.seen = logs, self.model


def made(layers: int, width: int) -> keras.Model:
    """With Adam, whose state is read, too."""
    dense = [keras.layers.Dense(width) for _ in range(layers)]
    model = keras.Sequential([keras.Input((width,)), *dense, keras.layers.Dense(1)])
    model.compile("adam", "mse")
    return model


def measured(layers: int, width: int, turns: int) -> dict[str, Any]:
    """A row of the table."""
    x = np.random.default_rng(0).normal(size=(ROWS * STEPS, width)).astype("float32")
    model, fit = made(layers, width), {"batch_size": ROWS, "verbose": 0, "shuffle": False}

    def step_ms(hook: keras.callbacks.Callback) -> float:
        begin = time.perf_counter()
        model.fit(x, x[:, :1], callbacks=[hook], **fit)
        return 1e3 * (time.perf_counter() - begin) / STEPS

    step_ms(Looks())
    taken = [(step_ms(Looks()), step_ms(Touches())) for _ in range(turns)]
    looks_ms, touches_ms = map(median, zip(*taken, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        ours = kp.perf_callbacks(folder, profiler=False, gpu=False, summary=False)
        model.fit(x, x[:, :1], epochs=2, callbacks=[Touches(), *ours], **fit)
        settings = kp.diagnose(folder).summary.facts.settings
    spent_s, times = sum(settings.state_reads_s.values()), sum(settings.state_reads.values())
    variables = len(model.variables) + len(model.optimizer.variables)
    more_ms, handed_ms = touches_ms - looks_ms, 1e3 * spent_s / times
    return {
        "layers": layers + 1,
        "width": width,
        "variables": variables,
        "step_ms": looks_ms,
        "reading_ms": touches_ms,
        "more_ms": more_ms,
        "handed_back_ms": handed_ms,
        "more_of_handed_back": more_ms / handed_ms,
    }


def main() -> None:
    """Prints a row a model."""
    parser = result.parser(__doc__)
    parser.add_argument("--turns", type=int, default=4)
    arguments = parser.parse_args()
    result.begin()
    models = result.Table()
    for layers, width in MODELS:
        models.add(**measured(layers, width, arguments.turns))
    result.keep(arguments.json, models=models)


if __name__ == "__main__":
    main()
