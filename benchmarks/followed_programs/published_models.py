"""Models of Keras's published examples, made small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

layers = keras.layers


def convnet() -> keras.Model:
    """keras.io/examples/vision/mnist_convnet."""
    return keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )


def transformer(length: int = 40) -> keras.Model:
    """keras.io/examples/nlp/text_classification_with_transformer."""
    inputs = layers.Input((length,), dtype="int32")
    x = layers.Embedding(2000, 16)(inputs)
    x = x + layers.Embedding(length, 16)(np.arange(length)[None])
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 16)(x, x))
    x = layers.LayerNormalization()(x + layers.Dense(16)(layers.Dense(32, "relu")(x)))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(x))


def xception() -> keras.Model:
    """keras.io/examples/vision/image_classification_from_scratch."""
    return keras.Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Rescaling(1 / 255),
            layers.SeparableConv2D(8, 3, strides=2, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(2, activation="softmax"),
        ]
    )


def speaker() -> keras.Model:
    """Of the same example."""
    return keras.Sequential(
        [
            layers.Input((2048,)),
            layers.Reshape((2048, 1)),
            layers.Conv1D(8, 3, strides=4, activation="relu"),
            layers.MaxPooling1D(8),
            layers.Flatten(),
            layers.Dense(5, activation="softmax"),
        ]
    )


def wide_and_deep() -> keras.Model:
    """Of the same example."""
    inputs = layers.Input((11,))
    wide = layers.BatchNormalization()(inputs)
    deep = layers.BatchNormalization()(layers.Dense(32, "relu")(inputs))
    deep = layers.Dropout(0.1)(layers.Dense(32, "relu")(deep))
    both = layers.concatenate([wide, deep])
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(both))


def embeddings() -> keras.Model:
    """keras.io/examples/structured_data/collaborative_filtering_for_movielens."""
    inputs = layers.Input((2,), dtype="int32")
    both = layers.Embedding(500, 16)(inputs)
    score = layers.Dot(1)([both[:, 0], both[:, 1]])
    return keras.Model(inputs, layers.Activation("sigmoid")(score))


def autoencoder() -> keras.Model:
    """keras.io/examples/vision/autoencoder."""
    return keras.Sequential(
        [
            layers.Input((28, 28, 1)),
            layers.Conv2D(8, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(1, 3, padding="same"),
        ]
    )


def recurrent(cell: Any, length: int = 24, features: int = 7) -> Callable[[], keras.Model]:
    """keras.io/examples/timeseries: one layer over windows."""
    return lambda: keras.Sequential([layers.Input((length, features)), cell(16), layers.Dense(1)])


def bidirectional() -> keras.Model:
    """keras.io/examples/nlp/bidirectional_lstm_imdb."""
    return keras.Sequential(
        [
            layers.Input((40,), dtype="int32"),
            layers.Embedding(2000, 16),
            layers.Bidirectional(layers.LSTM(16)),
            layers.Dense(2, activation="softmax"),
        ]
    )


def dense() -> keras.Model:
    """keras.io/examples/structured_data/imbalanced_classification."""
    return keras.Sequential(
        [
            layers.Input((29,)),
            layers.Dense(128, activation="relu"),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.3),
            layers.Dense(2, activation="softmax"),
        ]
    )


def sub_pixel() -> keras.Model:
    """keras.io/examples/vision/super_resolution_sub_pixel."""
    return keras.Sequential(
        [
            layers.Input((32, 32, 1)),
            layers.Conv2D(16, 5, padding="same", activation="relu"),
            layers.Conv2D(9, 3, padding="same", activation="relu"),
            layers.Lambda(lambda x: tf.nn.depth_to_space(x, 3)),
        ]
    )
