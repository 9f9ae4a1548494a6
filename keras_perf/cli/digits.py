"""Real handwritten digits, trained on the way a beginner does it, and better.

What differs between the two is in `Choices`; the arithmetic of training is the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_perf.records.advice_ids import (
    AMORTIZE_CALLBACK,
    CACHE,
    DISABLE_XLA,
    PARALLEL_MAP,
    PREFETCH,
    PRIVATE_THREADPOOL,
    RAISE_STEPS_PER_EXECUTION,
    STABLE_SHAPES,
    TUNE_GC,
)

BATCH_SIZE = 32
TRAINING_EXAMPLES = 1440
SCAN_SIZE = 128
IMAGE_SIZE = 32


@dataclass(frozen=True)
class Choices:
    """How the input pipeline, the callback and `compile` are set up."""

    parallel_map: bool = False
    cache: bool = False
    prefetch: bool = False
    log_every: int = 1
    steps_per_execution: int = 1
    drop_remainder: bool = False
    jit_compile: bool | str = "auto"
    own_threads: bool = False
    rare_collections: bool = False

    @classmethod
    def following(cls, recommendations: Iterable[Any]) -> Choices:
        """The choices that a diagnosis recommends."""
        advice = {r.id: r.evidence for r in recommendations}
        return cls(
            parallel_map=PARALLEL_MAP in advice,
            cache=CACHE in advice,
            prefetch=PREFETCH in advice,
            log_every=advice.get(AMORTIZE_CALLBACK, {}).get("advised", 1),
            steps_per_execution=advice.get(RAISE_STEPS_PER_EXECUTION, {}).get("advised", 1),
            drop_remainder=STABLE_SHAPES in advice,
            jit_compile=False if DISABLE_XLA in advice else "auto",
            own_threads=PRIVATE_THREADPOOL in advice,
            rare_collections=TUNE_GC in advice,
        )


def write_images(folder: Path) -> list[str]:
    """Writes the digits as PNG files of 128 × 128 pixels; returns their paths.

    A file is named by its place and its label.
    """
    with (files("keras_perf") / "cli" / "data" / "digits.npz").open("rb") as stream:
        data = np.load(stream)
        images, labels = data["images"], data["labels"]
    paths = []
    for place, (image, label) in enumerate(zip(images, labels, strict=True)):
        path = folder / f"{place:04d}_{label}.png"
        scan = np.kron(image, np.ones((SCAN_SIZE // 8, SCAN_SIZE // 8)))[..., None] * (255 / 16)
        png = tf.io.encode_png(scan.astype("uint8"))
        tf.io.write_file(str(path), png)
        paths.append(str(path))
    return paths


def decode(path: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Image (32, 32, 1) in 0…1, and label, from a file whose name ends in `_<label>.png`.

    The label is found in Python, as is easily done. It also keeps tf.data from running the map
    in parallel by itself, which it does where a function is all graph.
    """
    image = tf.io.decode_png(tf.io.read_file(path), channels=1)
    image = tf.image.resize(image, (IMAGE_SIZE, IMAGE_SIZE), antialias=True) / 255.0
    label = tf.numpy_function(lambda name: np.int32(name[-5:-4]), [path], tf.int32)
    return image, tf.ensure_shape(label, ())


def training_data(paths: list[str], choices: Choices) -> tf.data.Dataset:
    """The training examples, in an order that does not depend on the choices."""
    dataset = tf.data.Dataset.from_tensor_slices(paths[:TRAINING_EXAMPLES])
    parallel = tf.data.AUTOTUNE if choices.parallel_map else None
    dataset = dataset.map(decode, num_parallel_calls=parallel)
    if choices.cache:
        dataset = dataset.cache()
    dataset = dataset.shuffle(256, seed=1)
    dataset = dataset.batch(BATCH_SIZE, drop_remainder=choices.drop_remainder)
    if choices.own_threads:
        options = tf.data.Options()
        options.threading.private_threadpool_size = 16
        dataset = dataset.with_options(options)
    return dataset.prefetch(tf.data.AUTOTUNE) if choices.prefetch else dataset


def test_data(paths: list[str]) -> tf.data.Dataset:
    """The examples that training never sees."""
    return tf.data.Dataset.from_tensor_slices(paths[TRAINING_EXAMPLES:]).map(decode).batch(128)


class WeightLog(keras.callbacks.Callback):
    """Writes the norm of every weight to a file, as people do who watch a training closely.

    It only looks, so other numbers of steps per execution may be tried around it.
    """

    async_safe = True

    def __init__(self, path: Path, every: int = 1) -> None:
        super().__init__()
        self.path = path
        self.every = every
        self.calls = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Logs, every so many calls: of several steps in an execution only the last is told."""
        self.calls += 1
        if self.calls % self.every:
            return
        norms = [float(np.linalg.norm(weight)) for weight in self.model.get_weights()]
        with self.path.open("a") as stream:
            stream.write(f"{batch},{logs['loss']},{norms}\n")


def build_model(choices: Choices) -> keras.Model:
    """A small convolutional network."""
    model = keras.Sequential(
        [
            keras.layers.Input((IMAGE_SIZE, IMAGE_SIZE, 1)),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(10),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(3e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        steps_per_execution=choices.steps_per_execution,
        jit_compile=choices.jit_compile,
    )
    return model


def train(
    paths: list[str], choices: Choices, epochs: int, callbacks: list[keras.callbacks.Callback],
    log: Path,
) -> float:  # fmt: skip
    """Trains from the same seed whatever the choices; returns accuracy on the test examples."""
    keras.utils.set_random_seed(7)
    model = build_model(choices)
    if choices.rare_collections:
        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)
    model.fit(
        training_data(paths, choices),
        epochs=epochs,
        verbose=0,
        shuffle=False,  # the dataset shuffles itself
        callbacks=[WeightLog(log, choices.log_every), *callbacks],
    )
    return float(model.evaluate(test_data(paths), verbose=0, return_dict=True)["accuracy"])
