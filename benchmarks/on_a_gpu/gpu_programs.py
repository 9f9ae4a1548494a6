"""Trainings of which is known what they multiply, keep, and wait for.

Keras's backend is chosen before this is imported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

DEPTH = 4
FEATURES = 64
"""A batch is small, so that copying it takes no time beside the layers."""


class Same(keras.utils.PyDataset):
    """The same batch again and again.

    Arguments:
        batch: examples and targets.
        steps: so many times.
    """

    def __init__(self, batch: tuple[np.ndarray, np.ndarray], steps: int) -> None:
        super().__init__()
        self.batch, self.steps = batch, steps

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.batch


class Training:
    """Dense layers of one width, between few features and one number.

    Arguments:
        width: of each layer.
        rows: of a batch.
        depth: layers of that width, of which the first is narrow.
        optimizer: by Keras's name.
        policy: of the model's numbers.
        compiled: other arguments of `compile`.
    """

    def __init__(
        self,
        width: int,
        rows: int,
        *,
        depth: int = DEPTH,
        optimizer: str = "sgd",
        policy: str = "float32",
        **compiled: Any,
    ) -> None:
        keras.utils.set_random_seed(1)
        usual = keras.config.dtype_policy()
        keras.config.set_dtype_policy(policy)
        wide = [keras.layers.Dense(width, "relu") for _ in range(depth)]
        layers = [keras.Input((FEATURES,)), *wide, keras.layers.Dense(1)]
        self.model: keras.Model = keras.Sequential(layers)
        self.model.compile(optimizer, "mse", **compiled)
        keras.config.set_dtype_policy(usual)
        x = np.random.default_rng(0).normal(size=(rows, FEATURES)).astype("float32")
        self.batch = x, x[:, :1]

    def fit(
        self, steps: int, callbacks: Sequence[keras.callbacks.Callback], epochs: int = 1
    ) -> None:
        """Trains so many steps an epoch."""
        data = Same(self.batch, steps)
        self.model.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=[*callbacks])

    def step_ms(self, steps: int, callbacks: Sequence[keras.callbacks.Callback] = ()) -> float:
        """Of a second epoch, by a clock around it and the end of its callbacks."""
        watch = Stopwatch()
        self.fit(steps, [*callbacks, Waits(), watch], epochs=2)
        return 1e3 * watch.seconds / steps


class Waits(keras.callbacks.Callback):
    """Takes the time after each step, for whose losses Keras waits: this may not be late.

    So no backend runs ahead of the device, and nothing is tried within a training.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Takes it."""
        self.seconds.append(time.perf_counter())


class Stopwatch(keras.callbacks.Callback):
    """Takes the seconds of the last epoch, at whose end its losses have been read."""

    seconds = begin = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Starts."""
        self.begin = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Stops."""
        self.seconds = time.perf_counter() - self.begin


class Sleeps(keras.callbacks.Callback):
    """Sleeps after each step, whose losses Keras has read by then: the device is idle.

    Arguments:
        seconds: each time.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.slept_ms: list[float] = []
        """What it really took."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Sleeps."""
        begin = time.perf_counter()
        time.sleep(self.seconds)
        self.slept_ms.append(1e3 * (time.perf_counter() - begin))
