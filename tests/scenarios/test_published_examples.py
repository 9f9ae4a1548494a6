"""Models and pipelines of Keras's published examples, made small, on generated data.

Nobody knows their bottleneck beforehand. It is measured another way: the input alone and the
train step alone, and the verdict must not contradict them.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp

pytestmark = [pytest.mark.timing, pytest.mark.whole]

layers = keras.layers
RANDOM = np.random.default_rng(0)

CLEARLY = 2.0
"""Only where one takes so many times as long as the other do the two alone say which is behind."""

BATCHES = 40
"""So many are measured each time."""


def simple_mnist_convnet():
    """keras.io/examples/vision/mnist_convnet: arrays, two convolutions, dropout."""
    model = keras.Sequential(
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
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
    x = RANDOM.normal(size=(2560, 28, 28, 1)).astype("float32")
    y = keras.utils.to_categorical(RANDOM.integers(0, 10, 2560), 10)
    return model, tf.data.Dataset.from_tensor_slices((x, y)).batch(32)


def text_classification_with_transformer():
    """keras.io/examples/nlp/text_classification_with_transformer: one block over tokens."""
    inputs = layers.Input((40,), dtype="int32")
    x = layers.Embedding(2000, 16)(inputs) + layers.Embedding(40, 16)(np.arange(40)[None])
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 16)(x, x))
    x = layers.LayerNormalization()(x + layers.Dense(16)(layers.Dense(32, "relu")(x)))
    x = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(x))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x = RANDOM.integers(0, 2000, (2560, 40)).astype("int32")
    return model, tf.data.Dataset.from_tensor_slices((x, x[:, 0] % 2)).batch(32)


def timeseries_weather_forecasting():
    """keras.io/examples/timeseries/timeseries_weather_forecasting: windows, an LSTM."""
    model = keras.Sequential([layers.Input((24, 7)), layers.LSTM(16), layers.Dense(1)])
    model.compile("adam", "mse")
    series = RANDOM.normal(size=(2000, 7)).astype("float32")
    data = keras.utils.timeseries_dataset_from_array(
        series, series[24:, :1], sequence_length=24, batch_size=32
    )
    return model, data


def image_classification_from_scratch():
    """keras.io/examples/vision/image_classification_from_scratch: files, decoding, augmenting."""
    model = keras.Sequential(
        [
            layers.Input((32, 32, 3)),
            layers.Rescaling(1 / 255),
            layers.SeparableConv2D(8, 3, strides=2, activation="relu"),
            layers.BatchNormalization(),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1),
        ]
    )
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    images = [
        tf.io.encode_png(RANDOM.integers(0, 255, (64, 64, 3)).astype("uint8")).numpy()
        for _ in range(64)
    ]
    data = tf.data.Dataset.from_tensor_slices((images * 20, [0, 1] * 640))
    augment = layers.RandomFlip("horizontal")

    def decoded(image, label):
        return tf.image.resize(tf.io.decode_png(image, 3), (32, 32)), label

    data = data.map(decoded).batch(16).map(lambda x, y: (augment(x, training=True), y))
    return model, data.prefetch(tf.data.AUTOTUNE)


EXAMPLES = [
    simple_mnist_convnet,
    text_classification_with_transformer,
    timeseries_weather_forecasting,
    image_classification_from_scratch,
]


def alone_ms(model, data):
    """The input, and the train step."""
    batch = next(iter(data))
    input_ms = kp.benchmark_input_pipeline(data, batches=BATCHES)["batch_ms"].median()
    return input_ms, kp.benchmark_train_step(model, batch, steps=BATCHES)["step_ms"].median()


@pytest.mark.skipif(
    not hasattr(tf.data.experimental, "get_model_proto"),
    reason="this TensorFlow does not tell tf.data's gap times",
)
@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_the_verdict_does_not_contradict_input_and_step_alone(example, tmp_path):
    keras.utils.set_random_seed(0)
    model, data = example()
    # Before the training and after it: what holds each time is no neighbour's doing.
    before = alone_ms(model, data)
    model.fit(
        data,
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=kp.perf_callbacks(tmp_path, profiler=False),
    )
    found = kp.diagnose(tmp_path)
    input_ms, step_ms = zip(before, alone_ms(model, data), strict=True)
    told = f"input alone {input_ms} ms, step alone {step_ms} ms\n{found}"
    if min(input_ms) > CLEARLY * max(step_ms):
        assert found.verdict == "input-bound", told
    if min(step_ms) > CLEARLY * max(input_ms):
        assert found.verdict in ("compute-bound", "dispatch-bound", "inconclusive"), told
    if found.verdict == "inconclusive":
        # Only where a step is short and what entering and leaving it costs is not known.
        assert "dispatch" not in found.summary.parts, told
    for advice in found.recommendations:
        assert 1 <= advice.low <= advice.predicted_speedup <= advice.high, told
