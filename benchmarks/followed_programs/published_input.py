"""Inputs of Keras's published examples, on generated data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers = keras.layers

RANDOM = np.random.default_rng(0)


def slices(*arrays: Any) -> Callable[[], tf.data.Dataset]:
    """A dataset of arrays that are made once."""
    whole = arrays[0] if len(arrays) == 1 else arrays
    return lambda: tf.data.Dataset.from_tensor_slices(whole)


def images(count: int, size: int) -> tuple[Any, Any]:
    """Images of noise, with labels."""
    x = RANDOM.normal(size=(count, size, size, 1)).astype("float32")
    return x, RANDOM.integers(0, 10, count)


def pngs(count: int) -> tuple[Any, Any]:
    """Encoded images, with labels."""
    made = [
        tf.io.encode_png(RANDOM.integers(0, 255, (64, 64, 3)).astype("uint8")).numpy()
        for _ in range(64)
    ]
    return made * (count // 64), RANDOM.integers(0, 2, count)


def decoded(image: Any, label: Any) -> Any:
    """As image_dataset_from_directory does."""
    return tf.image.resize(tf.io.decode_png(image, 3), (32, 32)), label


def flipped(image: Any, label: Any) -> Any:
    """Draws at random."""
    return tf.image.random_brightness(tf.image.random_flip_left_right(image), 0.1), label


def with_noise(audio: Any, label: Any) -> Any:
    """keras.io/examples/audio/speaker_recognition_using_cnn: add_noise, then a transform."""
    noise = tf.random.normal(tf.shape(audio)) * 0.5
    audio = audio + noise
    return tf.math.abs(tf.signal.fft(tf.cast(audio, tf.complex64)))[:, :2048], label


def mixed(image: Any, label: Any) -> Any:
    """keras.io/examples/vision/cutmix: a box of another image of the batch."""
    place = tf.random.uniform((2,), 0, 14, tf.int32)
    box = tf.pad(tf.ones((14, 14)), [[place[0], 14 - place[0]], [place[1], 14 - place[1]]])
    box = box[None, :, :, None]
    return image * (1 - box) + tf.reverse(image, [0]) * box, label


LOOKUP = layers.StringLookup(vocabulary=[f"word{place}" for place in range(200)])
TEXTS = [" ".join(f"word{w}" for w in RANDOM.integers(0, 200, 60)) for _ in range(640)]
VECTORS = layers.TextVectorization(
    2000, output_sequence_length=40, vocabulary=[f"word{place}" for place in range(200)]
)


def columns(line: Any) -> Any:
    """keras.io/examples/structured_data/wide_deep_cross_networks: CSV and lookups."""
    *numbers, word, label = tf.io.decode_csv(line, [[0.0]] * 10 + [[""], [0]])
    return tf.concat([tf.stack(numbers), [tf.cast(LOOKUP(word), tf.float32)]], 0), label


def columns_of_batch(batch: Any) -> Any:
    """The same of many rows."""
    *numbers, word, label = tf.io.decode_csv(batch, [[0.0]] * 10 + [[""], [0]])
    words = tf.cast(LOOKUP(word), tf.float32)
    return tf.concat([tf.stack(numbers, 1), words[:, None]], 1), label


def lines(count: int) -> list[str]:
    """Rows of a CSV file."""
    return [
        ",".join([*(f"{v:.3f}" for v in RANDOM.normal(size=10)), f"word{place % 300}", "1"])
        for place in range(count)
    ]


def vectorized(text: Any, label: Any) -> Any:
    """keras.io/examples/nlp/text_classification_from_scratch: TextVectorization in a map."""
    return VECTORS(text), label


def windows() -> tf.data.Dataset:
    """keras.io/examples/timeseries/timeseries_weather_forecasting."""
    series = RANDOM.normal(size=(4000, 7)).astype("float32")
    return keras.utils.timeseries_dataset_from_array(
        series, series[24:, :1], sequence_length=24, batch_size=32
    )


WAVES = RANDOM.normal(size=(320, 4096)).astype("float32"), RANDOM.integers(0, 5, 320)


def shrunk(image: Any) -> Any:
    """keras.io/examples/vision/super_resolution_sub_pixel: process_input and process_target."""
    return tf.image.resize(image, (32, 32), method="area"), image
