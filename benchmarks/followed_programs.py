"""Trainings as data: what advice changes in them can be changed, and nothing else.

The injected ones have one bottleneck each, put there; the published ones are models, pipelines
and callbacks of Keras's published examples, rewritten small, on generated data. `follow_up.py`
trains them, follows the advice to the letter, and trains again.
"""

from __future__ import annotations

import atexit
import gc
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "scenarios"))

from bottlenecks import (
    Batches,
    Chatter,
    EpochHook,
    Hook,
    Litter,
    Pause,
    Unfreezes,
    computed,
    mlp,
    slept,
    work,
)

layers = keras.layers
Callbacks = list[keras.callbacks.Callback]


@dataclass(frozen=True)
class Stage:
    """One call on a dataset: `kind` is its name, `argument` what it is given."""

    kind: str
    argument: Any = None
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """A callback: `make` is given every how many calls it works."""

    owner: str
    make: Callable[[int], keras.callbacks.Callback]
    every: int = 1


@dataclass(frozen=True)
class Program:
    """One training.

    Attributes:
        verdicts: those that are right; () where that has to be measured.
        model: makes it, not compiled; `compiled` are the arguments of `compile`.
        source: makes what the pipeline begins with: a dataset, a PyDataset, a generator.
        stages: of the pipeline, in order.
        options: of the dataset, by the names of `tf.data.Options`.
        fit: arguments of `fit`.
        validation: batches of it; 0 for none.
        validates: stages of its pipeline, behind those of the training.
        validation_threads: its maps run in several threads, whatever the training's do.
        works: the user's callbacks.
        tuned_gc: the collector runs as the advice has it.
    """

    name: str
    verdicts: tuple[str, ...]
    model: Callable[[], keras.Model]
    source: Callable[[], Any]
    stages: tuple[Stage, ...] = ()
    compiled: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    validation: int = 0
    validates: tuple[Stage, ...] = ()
    validation_threads: bool = False
    works: tuple[Work, ...] = ()
    tuned_gc: bool = False

    def dataset(self) -> Any:
        """What `fit` is given."""
        data = _made(self.source(), self.stages)
        if self.options:
            options = tf.data.Options()
            for name, value in self.options.items():
                *path, last = name.split(".")
                at = options
                for part in path:
                    at = getattr(at, part)
                setattr(at, last, value)
            data = data.with_options(options)
        return data

    def validation_data(self) -> Any:
        """What `fit` validates on: as many batches as are said, of the training's pipeline."""
        stages = _in_threads(self.stages) if self.validation_threads else self.stages
        data = replace(self, stages=stages).dataset()
        return _made(data.take(self.validation), self.validates)

    def made(self) -> keras.Model:
        """The model, compiled."""
        keras.utils.set_random_seed(1)
        model = self.model()
        model.compile(**{"optimizer": "sgd", "loss": "mse", "jit_compile": False, **self.compiled})
        return model

    def train(self, callbacks: Callbacks) -> None:
        """Once, as it is."""
        usual = gc.get_threshold()
        if self.tuned_gc:
            gc.set_threshold(100_000, 50, 100)
        data, works = self.dataset(), [work.make(work.every) for work in self.works]
        fit = dict(self.fit)
        if self.validation:
            fit["validation_data"] = self.validation_data()
        try:
            self.made().fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, *works], **fit)
        finally:
            gc.set_threshold(*usual)


def _made(data: Any, stages: tuple[Stage, ...]) -> Any:
    """The data with these calls on it."""
    for stage in stages:
        given = () if stage.argument is None else (stage.argument,)
        data = getattr(data, stage.kind)(*given, **stage.more)
    return data


def _in_threads(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """Their maps run in several threads."""
    more = {"num_parallel_calls": tf.data.AUTOTUNE}
    return tuple(replace(s, more={**s.more, **more}) if s.kind == "map" else s for s in stages)


# -- what they are made of ---------------------------------------------------------------


def rows(count: int, features: int = 8) -> Callable[[], tf.data.Dataset]:
    """Examples without meaning."""

    def source() -> tf.data.Dataset:
        x = np.random.default_rng(0).normal(size=(count, features)).astype("float32")
        return tf.data.Dataset.from_tensor_slices((x, x[:, :1]))

    return source


def batched(batches: int, size: int = 8) -> dict[str, Any]:
    """A source of so many batches, and the stage that makes them."""
    return {"source": rows(batches * size), "batch": Stage("batch", size, {"drop_remainder": True})}


PREFETCH = Stage("prefetch", 2)


def of_rows(
    name: str,
    verdicts: tuple[str, ...],
    batches: int,
    *stages: Stage,
    size: int = 8,
    width: int = 16,
    **how: Any,
) -> Program:
    """A small MLP over examples without meaning; the batch comes first."""
    made = batched(batches, size)
    model = lambda: keras.models.clone_model(mlp(width))  # noqa: E731
    return Program(name, verdicts, model, made["source"], (made["batch"], *stages), **how)


def generated(ms: float, *, works: bool) -> Callable[[], Iterator[Any]]:
    """A Python generator that waits or works for each batch."""

    def source() -> Iterator[Any]:
        made = Batches(ms, works=works)
        return (made[place] for place in range(len(made)))

    return source


def worked(ms: float) -> Callable[[Any, Any], Any]:
    """A map's function of Python code that computes."""

    def compute(x: Any) -> Any:
        work(ms)
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(compute, [x], x.dtype), x.shape), y

    return mapped


FILES = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FILES, ignore_errors=True)


def file_names() -> tf.data.Dataset:
    """Of files that hold a batch each."""
    names = [str(Path(FILES, f"{place:03}.tfrecord")) for place in range(200)]
    for name in names:
        with tf.io.TFRecordWriter(name) as out:
            for _ in range(8):
                out.write(bytes(8))
    return tf.data.Dataset.from_tensor_slices(names)


def opened(name: Any) -> tf.data.Dataset:
    """The records of a file that takes a while to open."""
    waits = slept(6.0)
    one = tf.data.Dataset.from_tensors(name).map(lambda file: waits(file, 0)[0])
    return one.flat_map(tf.data.TFRecordDataset)


def parsed(record: Any) -> Any:
    """An example."""
    x = tf.ensure_shape(tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32), (8,))
    return x, x[:1]


def uneven() -> tf.data.Dataset:
    """Batches of which a few take many times as long as most."""
    lengths = np.random.default_rng(0).exponential(0.03, 400)

    def wait(place: np.ndarray) -> np.ndarray:
        time.sleep(lengths[place])
        return np.ones((8, 8), "float32")

    def made(place: Any) -> Any:
        x = tf.ensure_shape(tf.numpy_function(wait, [place], tf.float32), (8, 8))
        return x, x[:, :1]

    return tf.data.Dataset.range(400).map(made, num_parallel_calls=8)


def checkpoint(every: int) -> keras.callbacks.Callback:
    """Keras's own."""
    path = str(Path(FILES, "{batch}.weights.h5"))
    return keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=every)


def lengths_that_vary(every: int = 1) -> tf.data.Dataset:
    """Sequences of many lengths, each batch as long as its own longest one."""
    lengths = np.random.default_rng(0).integers(8, 28, 400)
    lengths[np.arange(400) % every != 0] = 16

    def ones(length: Any) -> Any:
        return tf.ones((8, length, 4)), tf.ones((8, length, 1))

    return tf.data.Dataset.from_tensor_slices(lengths).map(ones)


def sequence_model() -> keras.Model:
    """Of any length."""
    return keras.Sequential([layers.Input((None, 4)), layers.Dense(8), layers.Dense(1)])


def hook(ms: float, every: int = 1) -> Work:
    """A batch hook."""
    return Work("RareHook", lambda n: RareHook(n, ms), every)


class Rarely(keras.callbacks.Callback):
    """Before a callback's class: what it does behind batches, behind every so many."""

    def __init__(self, every: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.every = every

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Works, or does not."""
        if batch % self.every == 0:
            super().on_train_batch_end(batch, logs)


class RareHook(Rarely, Hook):
    """Works every so many batches."""


class RarePause(Rarely, Pause):
    """Waits every so many batches."""


class RareEpochHook(EpochHook):
    """Works every so many epochs."""

    def __init__(self, ms: float, every: int) -> None:
        super().__init__(ms)
        self.every = every

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Works, or does not."""
        if epoch % self.every == 0:
            super().on_epoch_end(epoch, logs)


class RareLitter(Rarely, Litter):
    """Makes objects every so many batches."""


class RareChatter(Rarely, Chatter):
    """Formats lines every so many batches."""


def epoch_hook(ms: float) -> Work:
    """An epoch's hook."""
    return Work("RareEpochHook", lambda n: RareEpochHook(ms, n))


ONE_CORE = computed(300)

INJECTED = (
    of_rows("sequential map", ("input-bound",), 400, Stage("map", slept(6.0)), PREFETCH),
    of_rows("sequential map, 2 ms", ("input-bound",), 400, Stage("map", slept(2.0)), PREFETCH),
    of_rows("sequential map, 20 ms", ("input-bound",), 250, Stage("map", slept(20.0)), PREFETCH),
    of_rows(
        "sequential map that computes",
        ("input-bound",),
        200,
        Stage("map", ONE_CORE),
        PREFETCH,
        size=32,
    ),
    of_rows(
        "the same work in each epoch",
        ("input-bound",),
        30,
        Stage("map", slept(6.0), {"num_parallel_calls": 1}),
        PREFETCH,
        fit={"epochs": 12},
    ),
    Program(
        "a finite repeat",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        rows(80),
        (Stage("repeat", 80), Stage("map", slept(0.5)), Stage("batch", 16), PREFETCH),
    ),
    Program(
        "waiting in the library's pool",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        rows(3200),
        (
            Stage("batch", 8),
            Stage("map", slept(20.0), {"num_parallel_calls": tf.data.AUTOTUNE}),
            PREFETCH,
        ),
    ),
    Program(
        "a cheap map for each example",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp(features=2)),
        rows(2048 * 80, 2),
        (Stage("map", lambda x, y: (2.0 * x, y)), Stage("batch", 2048), PREFETCH),
    ),
    Program(
        "a generator that waits",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        generated(6.0, works=False),
    ),
    Program(
        "a generator that works",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        generated(6.0, works=True),
    ),
    of_rows("a batch hook", ("callback-bound",), 315, works=(hook(10.0),), size=64),
    of_rows("a batch hook, 3 ms", ("callback-bound",), 315, works=(hook(3.0),), size=64),
    of_rows(
        "an epoch's hook", ("callback-bound",), 60, works=(epoch_hook(200.0),), fit={"epochs": 10}
    ),
    of_rows(
        "validation longer than the epoch",
        ("compute-bound", "dispatch-bound", "input-bound", "inconclusive"),
        60,
        validation=60,
        fit={"epochs": 8},
        width=64,
    ),
    of_rows("a tiny model", ("dispatch-bound",), 640, fit={"epochs": 4}),
    of_rows("a tiny model, 64 rows", ("dispatch-bound",), 640, size=64, fit={"epochs": 4}),
    of_rows("eager", ("eager-bound",), 300, compiled={"run_eagerly": True}),
    of_rows(
        "eager, 256 wide", ("eager-bound",), 100, compiled={"run_eagerly": True}, width=256, size=64
    ),
    Program(
        "a partial batch under XLA",
        ("compile-bound",),
        lambda: keras.models.clone_model(mlp()),
        rows(2403),
        (Stage("batch", 8),),
        compiled={"jit_compile": True},
        fit={"epochs": 2},
    ),
    Program(
        "lengths that vary under XLA",
        ("compile-bound",),
        sequence_model,
        lengths_that_vary,
        compiled={"jit_compile": True},
    ),
    of_rows(
        "a storm of garbage",
        ("callback-bound",),
        150,
        works=(Work("RareLitter", RareLitter),),
        size=64,
        width=512,
    ),
    of_rows(
        "sequential map, wider model",
        ("compute-bound", "dispatch-bound"),
        200,
        Stage("map", slept(6.0)),
        PREFETCH,
        size=256,
        width=512,
    ),
    of_rows(
        "a map of Python that works", ("input-bound",), 250, Stage("map", worked(6.0)), PREFETCH
    ),
    Program(
        "a generator that works, 15 ms",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        generated(15.0, works=True),
    ),
    of_rows(
        "parallel map that fills the cores",
        ("input-bound",),
        150,
        Stage("map", computed(600), {"num_parallel_calls": tf.data.AUTOTUNE}),
        PREFETCH,
    ),
    Program(
        "many small files",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        file_names,
        (Stage("flat_map", opened), Stage("map", parsed), Stage("batch", 8), PREFETCH),
    ),
    of_rows(
        "no prefetch",
        ("input-bound",),
        200,
        Stage("map", slept(6.0)),
        options={"experimental_optimization.inject_prefetch": False},
        works=(Work("RarePause", lambda n: RarePause(n, 4.0)),),
    ),
    of_rows(
        "the same work in five epochs, 15 ms",
        ("input-bound",),
        30,
        Stage("map", slept(15.0), {"num_parallel_calls": 1}),
        PREFETCH,
        fit={"epochs": 5},
    ),
    Program(
        "uneven elements in order",
        ("input-bound",),
        lambda: keras.models.clone_model(mlp()),
        uneven,
        (Stage("prefetch", 1),),
        options={"threading.private_threadpool_size": 16, "deterministic": True},
    ),
    of_rows("a batch hook, 30 ms", ("callback-bound",), 200, works=(hook(30.0),), size=64),
    of_rows(
        "a batch hook every 7 steps", ("callback-bound",), 315, works=(hook(30.0, 7),), size=64
    ),
    of_rows(
        "a checkpoint in every batch",
        ("callback-bound",),
        150,
        works=(Work("ModelCheckpoint", checkpoint),),
        size=256,
        width=256,
    ),
    of_rows("chatter", ("callback-bound",), 200, works=(Work("RareChatter", RareChatter),)),
    of_rows(
        "a train function made anew",
        ("compile-bound",),
        200,
        works=(Work("Unfreezes", lambda n: Unfreezes(25)),),
    ),
    Program(
        "lengths that vary now and then under XLA",
        ("compile-bound",),
        sequence_model,
        lambda: lengths_that_vary(20),
        compiled={"jit_compile": True},
    ),
    of_rows(
        "a tiny model, 64 wide", ("dispatch-bound",), 640, width=64, size=32, fit={"epochs": 4}
    ),
    of_rows("too short", ("inconclusive",), 15, Stage("map", slept(6.0))),
    Program(
        "healthy",
        ("compute-bound",),
        lambda: keras.models.clone_model(mlp(1536, features=512)),
        rows(256 * 80, 512),
        (Stage("batch", 256), Stage("cache"), PREFETCH),
    ),
)


# -- published ---------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
CLASSES: dict[str, Any] = {"optimizer": "adam", "loss": "sparse_categorical_crossentropy"}
MSE: dict[str, Any] = {"optimizer": "adam", "loss": "mse"}


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


def wide_and_deep() -> keras.Model:
    """Of the same example."""
    inputs = layers.Input((11,))
    wide = layers.BatchNormalization()(inputs)
    deep = layers.BatchNormalization()(layers.Dense(32, "relu")(inputs))
    deep = layers.Dropout(0.1)(layers.Dense(32, "relu")(deep))
    both = layers.concatenate([wide, deep])
    return keras.Model(inputs, layers.Dense(2, activation="softmax")(both))


def lines(count: int) -> list[str]:
    """Rows of a CSV file."""
    return [
        ",".join([*(f"{v:.3f}" for v in RANDOM.normal(size=10)), f"word{place % 300}", "1"])
        for place in range(count)
    ]


def vectorized(text: Any, label: Any) -> Any:
    """keras.io/examples/nlp/text_classification_from_scratch: TextVectorization in a map."""
    return VECTORS(text), label


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


def windows() -> tf.data.Dataset:
    """keras.io/examples/timeseries/timeseries_weather_forecasting."""
    series = RANDOM.normal(size=(4000, 7)).astype("float32")
    return keras.utils.timeseries_dataset_from_array(
        series, series[24:, :1], sequence_length=24, batch_size=32
    )


class Confusion(keras.callbacks.Callback):
    """Looks at a batch of predictions after each epoch, as examples with plots do."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Predicts, and takes the time of a plot."""
        if epoch % self.every == 0:
            self.model.predict(np.zeros((256, 28, 28, 1), "float32"), verbose=0)
            time.sleep(0.05)


WAVES = RANDOM.normal(size=(320, 4096)).astype("float32"), RANDOM.integers(0, 5, 320)

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
        (Stage("map", columns), Stage("shuffle", 1000), Stage("batch", 64)),
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
        (Stage("map", vectorized), Stage("batch", 16), PREFETCH),
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
)


def named(names: str) -> list[str]:
    """Names that stand one behind the other, with a comma and no space: some hold a comma."""
    return re.split(",(?! )", names)


# -- following advice --------------------------------------------------------------------


def followed(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """The program with this advice taken to the letter; None where only a person could.

    Arguments:
        program: that was diagnosed.
        advice: a `Recommendation`.
        stages: names of the running pipeline's stages, from the source on.
    """
    change = _CHANGES.get(advice.id)
    return None if change is None else change(program, advice, stages)


def _compiled(program: Program, **arguments: Any) -> Program:
    return replace(program, compiled={**program.compiled, **arguments})


def _options(program: Program, **options: Any) -> Program:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return replace(program, options={**program.options, **named})


def _maps(program: Program) -> list[int]:
    return [place for place, stage in enumerate(program.stages) if stage.kind == "map"]


def _map_of(program: Program, stage: str, stages: list[str]) -> int | None:
    """Where in the program the map stands that runs as this stage."""
    running = [name for name in stages if "Map" in name and "FlatMap" not in name]
    maps = _maps(program)
    return maps[running.index(stage)] if stage in running and len(running) == len(maps) else None


def _wider_pool(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """Not where a map within the program's dataset needs more calls, too."""
    if "first of all" in advice.action:
        return None
    return _options(program, threading__private_threadpool_size=int(advice.evidence["advised"]))


def _parallel_map(program: Program, advice: Any, stages: list[str]) -> Program | None:
    place = _map_of(program, advice.evidence["stage"], stages)
    if place is None:
        return None
    changed = list(program.stages)
    changed[place] = replace(changed[place], more={"num_parallel_calls": tf.data.AUTOTUNE})
    return replace(program, stages=tuple(changed))


def _cache(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """Behind the map that the action names, which goes before shuffles and repeats."""
    names = {
        _called(stage.argument): place
        for place, stage in enumerate(program.stages)
        if stage.kind == "map"
    }
    named = advice.action.partition("map(")[2].partition(")")[0].partition(",")[0]
    place = names.get(named, _maps(program)[-1] if named in UNNAMED else None)
    if place is None:
        return None
    before, after = program.stages[: place + 1], program.stages[place + 1 :]
    mixing = tuple(stage for stage in before if stage.kind in ("shuffle", "repeat"))
    kept = tuple(stage for stage in before if stage not in mixing)
    return replace(program, stages=(*kept, Stage("cache"), *mixing, *after))


UNNAMED = "your_lambda", "your_function"
"""What code to paste calls a lambda, and a function that is not known."""


def _called(function: Any) -> str:
    name = str(getattr(function, "__name__", ""))
    return UNNAMED[0] if name == "<lambda>" else name


def _batch_first(program: Program, advice: Any, stages: list[str]) -> Program | None:
    place = _map_of(program, advice.evidence["stage"], stages)
    batches = [p for p, stage in enumerate(program.stages) if stage.kind == "batch"]
    if place is None or not batches or batches[0] < place:
        return None
    if _called(program.stages[place].argument) not in UNNAMED:
        # A person has to write it for batches.
        return None
    changed = list(program.stages)
    moved = replace(changed.pop(place), more={"num_parallel_calls": tf.data.AUTOTUNE})
    changed.insert(batches[0], moved)
    return replace(program, stages=tuple(changed))


def _in_processes(program: Program, advice: Any, stages: list[str]) -> Program | None:
    if not program.name.startswith("a generator"):
        return None
    works, workers = "works" in program.name, int(advice.evidence["cores"])
    ms = 15.0 if "15 ms" in program.name else 6.0
    return replace(
        program,
        source=lambda: Batches(ms, works=works, workers=workers, use_multiprocessing=True),
    )


def _interleaved(program: Program, advice: Any, stages: list[str]) -> Program | None:
    changed = tuple(
        replace(stage, kind="interleave", more={"num_parallel_calls": tf.data.AUTOTUNE})
        if stage.kind == "flat_map"
        else stage
        for stage in program.stages
    )
    return replace(program, stages=changed) if changed != program.stages else None


def _rarer(program: Program, advice: Any, stages: list[str]) -> Program | None:
    name = advice.evidence["owner"].partition(".")[0]
    works = tuple(
        replace(work, every=int(advice.evidence["advised"])) if work.owner == name else work
        for work in program.works
    )
    return replace(program, works=works) if works != program.works else None


def _rarer_validation(program: Program, advice: Any, stages: list[str]) -> Program:
    if "validation_freq" in advice.action:
        freq = int(advice.evidence["advised"])
        return replace(program, fit={**program.fit, "validation_freq": freq})
    return replace(program, fit={**program.fit, "validation_steps": program.validation // 5})


def _faster_validation(program: Program, advice: Any, stages: list[str]) -> Program:
    """Behind `take`, since a cache is whole once its data has ended."""
    changes = advice.evidence["changes"]
    kept = (Stage("cache"),) if "cache" in changes else ()
    threads = program.validation_threads or "parallel-map" in changes
    return replace(program, validates=(*kept, *program.validates), validation_threads=threads)


def _one_shape(program: Program, advice: Any, stages: list[str]) -> Program | None:
    if "bucket" in advice.action:
        # To choose lengths is a person's.
        without_xla = advice.action.startswith("model.compile")
        return _compiled(program, jit_compile=False) if without_xla else None
    changed = tuple(
        replace(stage, more={**stage.more, "drop_remainder": True})
        if stage.kind == "batch"
        else stage
        for stage in program.stages
    )
    return replace(program, stages=changed) if changed != program.stages else None


_CHANGES: Mapping[str, Callable[[Program, Any, list[str]], Program | None]] = {
    "prefetch": lambda p, a, s: replace(p, stages=(*p.stages, Stage("prefetch", tf.data.AUTOTUNE))),
    "parallel-map": _parallel_map,
    "cache": _cache,
    "private-threadpool": _wider_pool,
    "nondeterministic-order": lambda p, a, s: _options(p, deterministic=False),
    "batch-before-map": _batch_first,
    "interleave": _interleaved,
    "parallel-input": _in_processes,
    "amortize-callback": _rarer,
    "raise-steps-per-execution": lambda p, a, s: _compiled(
        p, steps_per_execution=int(a.evidence["advised"])
    ),
    "stable-shapes": _one_shape,
    "disable-run-eagerly": lambda p, a, s: _compiled(p, run_eagerly=False),
    "rarer-validation": _rarer_validation,
    "faster-validation": _faster_validation,
    "larger-validation-batches": lambda p, a, s: replace(
        p, validates=(*p.validates, Stage("rebatch", int(a.evidence["advised"])))
    ),
    "tune-gc": lambda p, a, s: replace(p, tuned_gc=True),
}
