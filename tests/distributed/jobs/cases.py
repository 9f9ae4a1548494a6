"""Models, optimizers and data whose training must be the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import keras
import numpy as np

STEPS = 20
scaled = keras.mixed_precision.LossScaleOptimizer
optimizers = keras.optimizers


@dataclass(frozen=True)
class Case:
    """One training of 20 steps.

    Attributes:
        optimizer: makes it.
        flags: of the template.
        examples: in the data set, in the order of the file.
        batch_size: of all replicas together.
        penalty: L2 regularization of the first kernel.
        normalized: BatchNormalization, `synchronized` or `own`.
        dropout: its rate.
    """

    optimizer: Callable[[], keras.optimizers.Optimizer]
    flags: str = "--steps-per-call 5"
    examples: int = 640
    batch_size: int = 96
    penalty: float = 0.0
    normalized: str = ""
    dropout: float = 0.0

    @property
    def exact(self):
        return "--exact" in self.flags

    def model(self):
        """Always with the same first weights."""
        penalty = keras.regularizers.L2(self.penalty) if self.penalty else None
        first, second = (keras.initializers.GlorotUniform(seed=seed) for seed in (1, 2))
        layers = [
            keras.Input((8, 8, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(
                32, activation="relu", kernel_regularizer=penalty, kernel_initializer=first
            ),
        ]
        if self.normalized:
            synchronized = self.normalized == "synchronized"
            layers.append(keras.layers.BatchNormalization(synchronized=synchronized))
        if self.dropout:
            layers.append(keras.layers.Dropout(self.dropout))
        last = keras.layers.Dense(10, dtype="float32", kernel_initializer=second)
        return keras.Sequential([*layers, last])

    def arrays(self):
        """(images, labels) of the data set."""
        with (files("keras_perf") / "cli" / "data" / "digits.npz").open("rb") as stream:
            digits = np.load(stream)
            images = digits["images"][: self.examples, ..., None]
            return images, digits["labels"][: self.examples].astype("int32")


def growing(inner):
    """Doubles its loss scale every five steps."""
    return scaled(inner, initial_scale=2.0**10, dynamic_growth_steps=5)


exact = "--exact --steps-per-call 5"
xla = "--jit-compile"
CASES = {
    "sgd": Case(lambda: optimizers.SGD(0.1), "--steps-per-call 1"),
    "momentum": Case(lambda: optimizers.SGD(0.05, momentum=0.9), exact, examples=641),
    "adam": Case(lambda: optimizers.Adam(1e-2), "--exact --steps-per-call 20", examples=643),
    "adamw": Case(lambda: optimizers.AdamW(1e-2, weight_decay=0.01), exact, examples=650),
    "one example left": Case(lambda: optimizers.Adam(1e-2), exact, examples=577),
    "global-norm clipping": Case(
        lambda: optimizers.SGD(0.1, global_clipnorm=0.1), exact, examples=650
    ),
    "clipnorm": Case(lambda: optimizers.Adam(1e-2, clipnorm=0.01)),
    "accumulation": Case(
        lambda: optimizers.Adam(1e-2), f"{exact} --accumulate 4", examples=643, penalty=1e-3
    ),
    "regularization": Case(lambda: optimizers.SGD(0.1), exact, examples=641, penalty=1e-2),
    "synchronized normalization": Case(lambda: optimizers.SGD(0.1), normalized="synchronized"),
    "moving average": Case(lambda: optimizers.Adam(1e-2, use_ema=True, ema_momentum=0.9)),
    "loss scale": Case(
        lambda: growing(optimizers.Adam(1e-2, global_clipnorm=0.5)), exact, examples=643
    ),
    "jit compile": Case(lambda: optimizers.Adam(1e-2), f"--steps-per-call 5 {xla}"),
    "jit compile, ragged": Case(
        lambda: optimizers.SGD(0.05, momentum=0.9, global_clipnorm=0.5),
        f"{exact} {xla} --accumulate 2",
        examples=641,
        penalty=1e-3,
    ),
    "compiled": Case(lambda: optimizers.Adam(1e-2), "--steps-per-call 5 --compiled"),
    "compiled, ragged": Case(
        lambda: growing(optimizers.AdamW(1e-2, clipnorm=0.01)), f"{exact} --compiled", examples=643
    ),
}
HALVED = {
    f"{dtype} exchange": Case(
        lambda: scaled(optimizers.Adam(1e-2), initial_scale=2.0**10),
        f"{exact} --reduce-dtype {dtype}",
        examples=643,
    )
    for dtype in ("float16", "bfloat16")
}
"""They lose digits; else as `adam`."""
