"""How much slower a step computes that follows a pause.

    python benchmarks/pauses.py [--rounds 6] [--steps 20] [--widths 64,...]

What: dense models whose steps take between a fraction of a millisecond and some tens, trained by
`fit` on one batch over and over. A callback pauses before each step, for as long as the row says:
it counts, as a callback at work does, or sleeps, as a training does that waits for its input.
Printed is a row for each model: milliseconds that a step computes without any pause, and what share
of its time it would save if the pauses before it were gone, for each length of pause.

How: each round goes once through all pauses, a few steps each; the first two steps of a pause are
left out, as the one before them had another. Of each pause the median of all rounds' steps counts.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import keras
import numpy as np
import result
import tensorflow as tf

LAYERS, EXAMPLES = 2, 64
WIDTHS = "64,256,512,1024,2048"
"""Of the models' layers."""

LEFT_OUT = 2
"""Steps of a pause before its first one counts."""


@dataclass(frozen=True)
class Pause:
    """Before each step."""

    ms: float
    waits: bool = False

    @property
    def column(self) -> str:
        """Of the table."""
        return f"{'waits' if self.waits else 'works'}_{self.ms:g}_ms_saved_pct"

    def take(self) -> None:
        """So long."""
        if self.waits:
            time.sleep(self.ms / 1e3)
            return
        end = time.perf_counter() + self.ms / 1e3
        while time.perf_counter() < end:
            pass


NONE = Pause(0.0)
PAUSES = (
    NONE,
    *(Pause(ms) for ms in (1.0, 2.0, 3.0, 5.0, 10.0, 30.0)),
    *(Pause(ms, waits=True) for ms in (1.0, 3.0, 10.0, 30.0)),
)


class Pauses(keras.callbacks.Callback):
    """Pauses before each step, and takes the time of the step alone."""

    def __init__(self, pauses: Sequence[Pause]) -> None:
        """One of them before each step of an epoch."""
        super().__init__()
        self.pauses = pauses
        self.taken_ms: dict[Pause, list[float]] = {pause: [] for pause in pauses}

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """The pause lies before what is measured."""
        self.pauses[batch].take()
        self.begin = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """A step that follows one with the same pause counts."""
        taken = time.perf_counter() - self.begin
        if batch >= LEFT_OUT and self.pauses[batch] is self.pauses[batch - LEFT_OUT]:
            self.taken_ms[self.pauses[batch]].append(1e3 * taken)


def model_of(width: int) -> keras.Model:
    """Its steps take the longer the wider it is."""
    layers = [keras.layers.Dense(width, activation="relu") for _ in range(LAYERS)]
    model = keras.Sequential([keras.Input((width,)), *layers, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def row(width: int, rounds: int, steps: int) -> dict[str, Any]:
    """Of one model."""
    pauses = [pause for pause in PAUSES for _ in range(steps)]
    x, y = np.ones((EXAMPLES, width), "float32"), np.zeros((EXAMPLES, 1), "float32")
    batch = tf.data.Dataset.from_tensors((x, y)).cache().repeat(len(pauses))
    taken = Pauses(pauses)
    model = model_of(width)
    model.fit(batch.take(20), verbose=0)
    model.fit(batch, epochs=rounds, verbose=0, callbacks=[taken])
    alone_ms = median(taken.taken_ms[NONE])
    saved = {
        pause.column: 100 * (1 - alone_ms / median(taken.taken_ms[pause]))
        for pause in PAUSES
        if pause is not NONE
    }
    return {"width": width, "step_ms": alone_ms, **saved}


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--widths", default=WIDTHS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    result.begin()
    saved = result.Table()
    for width in map(int, arguments.widths.split(",")):
        saved.add(**row(width, arguments.rounds, arguments.steps))
    result.keep(arguments.json, saved=saved)


if __name__ == "__main__":
    main()
