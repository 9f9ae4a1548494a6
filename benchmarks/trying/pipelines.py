"""Pipelines as they are written, and as somebody who knows tf.data writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import followed_programs.published_input as examples
import tensorflow as tf
from followed_programs.input_pieces import rows, slept
from followed_programs.program import Program
from followed_programs.published import OF_EXAMPLES, PUBLISHED, demo_files

from keras_perf.cli import digits

AUTOTUNE = tf.data.AUTOTUNE


@dataclass(frozen=True)
class Pipeline:
    """As written, and as a person who knows tf.data writes it.

    Attributes:
        draws_others: by hand an example gets other random numbers, and may from `tune_input`, too.
    """

    name: str
    written: Callable[[], tf.data.Dataset]
    by_hand: Callable[[], tf.data.Dataset]
    draws_others: bool = False


def program(name: str) -> Program:
    """A published one, or the demo's."""
    return next(each for each in (*PUBLISHED, *OF_EXAMPLES) if each.name == name)


def decoding() -> tf.data.Dataset:
    """Images decoded one by one, in each epoch."""
    return tf.data.Dataset.from_tensor_slices(examples.pngs(640)).map(examples.decoded)


def scaled(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """As most programs scale images."""
    return tf.cast(x, tf.float32) / 255.0, y


def wide() -> tf.data.Options:
    """A pool of its own."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = 16
    return options


PIPELINES = (
    Pipeline(
        "the demo's digits",
        program("the demo's digits").dataset,
        lambda: (
            demo_files()
            .map(digits.decode, num_parallel_calls=AUTOTUNE)
            .cache()
            .shuffle(256, seed=1)
            .batch(digits.BATCH_SIZE)
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "decoding in each epoch",
        lambda: decoding().shuffle(640, seed=1).batch(32),
        lambda: decoding().cache().shuffle(640, seed=1).batch(32).prefetch(AUTOTUNE),
    ),
    Pipeline(
        "image_classification_from_scratch",
        program("image_classification_from_scratch").dataset,
        lambda: (
            tf.data.Dataset.from_tensor_slices(examples.pngs(1920))
            .map(examples.decoded, num_parallel_calls=AUTOTUNE)
            .cache()
            .map(examples.flipped, num_parallel_calls=AUTOTUNE)
            .batch(16)
            .prefetch(AUTOTUNE)
        ),
        draws_others=True,
    ),
    Pipeline(
        "wide_deep_cross_networks",
        program("wide_deep_cross_networks").dataset,
        lambda: (
            tf.data.Dataset.from_tensor_slices(examples.lines(6400))
            .map(examples.columns, num_parallel_calls=AUTOTUNE)
            .cache()
            .shuffle(1000)
            .batch(64)
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "text_classification_from_scratch",
        program("text_classification_from_scratch").dataset,
        lambda: (
            tf.data.Dataset.from_tensor_slices(
                (examples.TEXTS, examples.RANDOM.integers(0, 2, 640))
            )
            .batch(16)
            .map(examples.vectorized, num_parallel_calls=AUTOTUNE)
            .cache()
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "super_resolution_sub_pixel",
        program("super_resolution_sub_pixel").dataset,
        lambda: (
            program("super_resolution_sub_pixel")
            .source()
            .batch(8)
            .map(examples.shrunk, num_parallel_calls=AUTOTUNE)
            .cache()
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "small images",
        lambda: tf.data.Dataset.from_tensor_slices(examples.images(2560, 28)).map(scaled).batch(32),
        lambda: (
            tf.data.Dataset.from_tensor_slices(examples.images(2560, 28))
            .batch(32)
            .map(scaled, num_parallel_calls=AUTOTUNE)
            .prefetch(AUTOTUNE)
        ),
    ),
    Pipeline(
        "waiting for storage",
        lambda: rows(3200)().batch(8).map(slept(5.0)),
        lambda: rows(3200)().batch(8).map(slept(5.0), num_parallel_calls=16).with_options(wide()),
    ),
)
