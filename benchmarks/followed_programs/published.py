"""Keras's published examples, rewritten small: models, pipelines and callbacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from followed_programs.hooks import Confusion, Upscaled
from followed_programs.input_pieces import FILES, PREFETCH
from followed_programs.program import Program, Stage, Work
from followed_programs.published_input import (
    RANDOM,
    TEXTS,
    WAVES,
    columns,
    columns_of_batch,
    decoded,
    flipped,
    images,
    lines,
    mixed,
    pngs,
    shrunk,
    slices,
    vectorized,
    windows,
    with_noise,
)
from followed_programs.published_models import (
    autoencoder,
    bidirectional,
    convnet,
    dense,
    embeddings,
    recurrent,
    speaker,
    sub_pixel,
    transformer,
    wide_and_deep,
    xception,
)
from keras_perf.cli import digits

layers = keras.layers
CLASSES: dict[str, Any] = {"optimizer": "adam", "loss": "sparse_categorical_crossentropy"}
MSE: dict[str, Any] = {"optimizer": "adam", "loss": "mse"}


PUBLISHED = (
    Program(
        "mnist_convnet",
        (),
        convnet,
        slices(*images(2560, 28)),
        (Stage("batch", 32),),
        compiled=CLASSES,
        fit={"epochs": 3},
    ),
    Program(
        "text_classification_with_transformer",
        (),
        transformer,
        slices(RANDOM.integers(0, 2000, (2560, 40)).astype("int32"), RANDOM.integers(0, 2, 2560)),
        (Stage("batch", 32),),
        compiled=CLASSES,
        fit={"epochs": 3},
    ),
    Program(
        "timeseries_weather_forecasting",
        (),
        recurrent(layers.LSTM),
        windows,
        compiled=MSE,
        fit={"epochs": 3},
    ),
    Program(
        "image_classification_from_scratch",
        (),
        xception,
        slices(*pngs(1920)),
        (Stage("map", decoded), Stage("map", flipped), Stage("batch", 16), PREFETCH),
        compiled=CLASSES,
        fit={"epochs": 4},
    ),
    Program(
        "wide_deep_cross_networks",
        (),
        wide_and_deep,
        slices(lines(6400)),
        (
            Stage("map", columns, of_batches=columns_of_batch),
            Stage("shuffle", 1000),
            Stage("batch", 64),
        ),
        compiled=CLASSES,
        fit={"epochs": 4},
    ),
    Program(
        "speaker_recognition_using_cnn",
        (),
        speaker,
        slices(*WAVES),
        (
            Stage("shuffle", 320, {"seed": 1}),
            Stage("batch", 8),
            Stage("map", with_noise, {"num_parallel_calls": tf.data.AUTOTUNE}),
            Stage("prefetch", tf.data.AUTOTUNE),
        ),
        compiled=CLASSES,
        fit={"epochs": 6},
    ),
    Program(
        "cutmix",
        (),
        convnet,
        slices(*images(1280, 28)),
        (Stage("batch", 32), Stage("map", mixed), PREFETCH),
        compiled=CLASSES,
        fit={"epochs": 5},
    ),
    Program(
        "text_classification_from_scratch",
        (),
        transformer,
        slices(TEXTS, RANDOM.integers(0, 2, 640)),
        (Stage("map", vectorized, of_batches=vectorized), Stage("batch", 16), PREFETCH),
        compiled=CLASSES,
        fit={"epochs": 6},
    ),
    Program(
        "collaborative_filtering_for_movielens",
        (),
        embeddings,
        slices(RANDOM.integers(0, 500, (20_000, 2)).astype("int32"), RANDOM.random((20_000, 1))),
        (Stage("shuffle", 20_000, {"seed": 1}), Stage("batch", 64)),
        compiled=MSE,
        fit={"epochs": 4},
    ),
    Program(
        "autoencoder",
        (),
        autoencoder,
        slices(*(RANDOM.random((2560, 28, 28, 1)).astype("float32"),) * 2),
        (Stage("batch", 64),),
        compiled=MSE,
        fit={"epochs": 3},
    ),
    Program(
        "timeseries_anomaly_detection",
        (),
        recurrent(layers.GRU),
        windows,
        compiled=MSE,
        fit={"epochs": 3},
    ),
    Program(
        "mnist_convnet with validation and a plot",
        (),
        convnet,
        slices(*images(1280, 28)),
        (Stage("batch", 32),),
        compiled=CLASSES,
        fit={"epochs": 10},
        validation=20,
        works=(Work("Confusion", Confusion),),
    ),
    Program(
        "bidirectional_lstm_imdb",
        (),
        bidirectional,
        slices(RANDOM.integers(0, 2000, (1280, 40)).astype("int32"), RANDOM.integers(0, 2, 1280)),
        (Stage("batch", 32),),
        compiled=CLASSES,
        fit={"epochs": 3},
        validation=10,
    ),
    Program(
        "imbalanced_classification",
        (),
        dense,
        slices(RANDOM.normal(size=(81_920, 29)).astype("float32"), RANDOM.integers(0, 2, 81_920)),
        (Stage("batch", 512),),
        compiled=CLASSES,
        fit={"epochs": 4, "class_weight": {0: 0.1, 1: 5.0}},
        validation=20,
    ),
    Program(
        "super_resolution_sub_pixel",
        (),
        sub_pixel,
        slices(RANDOM.random((480, 96, 96, 1)).astype("float32")),
        (Stage("batch", 8), Stage("map", shrunk), Stage("prefetch", 32)),
        compiled=MSE,
        fit={"epochs": 4},
        works=(Work("Upscaled", Upscaled),),
    ),
)
"""None of their bottlenecks is known beforehand."""


def demo_files() -> tf.data.Dataset:
    """Of handwritten digits."""
    folder = Path(FILES, "digits")
    folder.mkdir(exist_ok=True)
    names = digits.write_images(folder)[: digits.TRAINING_EXAMPLES]
    return tf.data.Dataset.from_tensor_slices(names)


def weight_log(every: int) -> keras.callbacks.Callback:
    """The demo's callback."""
    return digits.WeightLog(Path(FILES, "weights.csv"), every)


_WIDE_AND_DEEP = next(each for each in PUBLISHED if each.name == "wide_deep_cross_networks")

OF_EXAMPLES = (
    Program(
        "the demo's digits",
        (),
        lambda: digits.build_model(digits.Choices()),
        demo_files,
        (
            Stage("map", digits.decode),
            Stage("shuffle", 256, {"seed": 1}),
            Stage("batch", digits.BATCH_SIZE),
        ),
        compiled={
            "optimizer": "adam",
            "loss": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "jit_compile": "auto",
        },
        fit={"epochs": 8},
        works=(Work("WeightLog", weight_log),),
    ),
    replace(
        _WIDE_AND_DEEP,
        name="wide_deep_cross_networks in one epoch",
        source=slices(lines(25_600)),
        fit={},
    ),
)
"""Variants of examples: the demo's program, and a pass that nothing repeats."""
