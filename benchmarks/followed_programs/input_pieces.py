"""What the inputs with an injected bottleneck are made of."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from bottlenecks import Batches, mlp, slept, work

from followed_programs.program import Program, Stage

layers = keras.layers
AUTOTUNE = tf.data.AUTOTUNE
PREFETCH = Stage("prefetch", 2)
FILES = tempfile.mkdtemp()
atexit.register(shutil.rmtree, FILES, ignore_errors=True)


def rows(count: int, features: int = 8) -> Callable[..., tf.data.Dataset]:
    """Examples without meaning; of a longer program so many times as many."""

    def source(times: int = 1) -> tf.data.Dataset:
        shape = times * count, features
        x = np.random.default_rng(0).normal(size=shape).astype("float32")
        return tf.data.Dataset.from_tensor_slices((x, x[:, :1]))

    return source


def small_mlp(width: int = 16, features: int = 8) -> Callable[[], keras.Model]:
    """Makes it, not compiled."""
    return lambda: keras.models.clone_model(mlp(width, features=features))


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
    batch = Stage("batch", size, {"drop_remainder": True})
    source = rows(batches * size)
    return Program(name, verdicts, small_mlp(width), source, (batch, *stages), times=1, **how)


class Made(Batches):
    """So many batches that take time to make."""

    def __init__(self, ms: float, *, batches: int = 250, works: bool, **arguments: Any) -> None:
        super().__init__(ms, works=works, **arguments)
        self.batches = batches

    def __len__(self) -> int:
        return self.batches


def of_python(name: str, ms: float, *, works: bool, **how: Any) -> Program:
    """A Python generator that waits or works for each batch."""

    def source(times: int) -> Iterator[Any]:
        made = Made(ms, batches=250 * times, works=works)
        return (made[place] for place in range(len(made)))

    how = {"verdicts": ("input-bound",), **how}
    workers = in_processes(ms) if works else in_threads(ms)
    return Program(name, model=small_mlp(), source=source, times=1, in_processes=workers, **how)


def in_processes(ms: float) -> Callable[[int], Callable[[int], Made]]:
    """A source of the same batches for each number of processes that work for them."""

    def of(workers: int) -> Callable[[int], Made]:
        more = {"workers": workers, "use_multiprocessing": True}
        return lambda times: Made(ms, batches=250 * times, works=True, **more)

    return of


def in_threads(ms: float) -> Callable[[int], Callable[[int], Made]]:
    """The same of batches that are waited for, for each number of threads."""

    def of(workers: int) -> Callable[[int], Made]:
        more = {"workers": workers, "max_queue_size": max(10, workers)}
        return lambda times: Made(ms, batches=250 * times, works=False, **more)

    return of


class Rolled(keras.utils.PyDataset):
    """Batches of 16 images, which NumPy makes one by one."""

    def __init__(self, batches: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.batches = batches

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        draws, images = np.random.default_rng(index), []
        for _ in range(16):
            image = draws.normal(size=(32, 32, 3))
            for shift in (1, 2, 3):
                image = (image + np.roll(image, shift, 0)) / 2
            images.append(image + draws.normal(scale=0.1, size=image.shape))
        return np.stack(images), np.zeros(16, "int32")


def rolled(workers: int) -> Callable[[int], Rolled]:
    """A source of the same batches for each number of processes that make them."""
    return lambda times: Rolled(200 * times, workers=workers, use_multiprocessing=True)


def convolutions() -> keras.Model:
    """Two, not compiled."""
    hidden = [layers.Conv2D(16, 3, activation="relu"), layers.MaxPooling2D()]
    hidden += [layers.Conv2D(32, 3, activation="relu"), layers.GlobalAveragePooling2D()]
    return keras.Sequential([layers.Input((32, 32, 3)), *hidden, layers.Dense(10)])


def worked(ms: float) -> Callable[[Any, Any], Any]:
    """A map's function of Python code that computes."""

    def compute(x: Any) -> Any:
        work(ms)
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(compute, [x], x.dtype), x.shape), y

    return mapped


def slowed(x: Any, rounds: int) -> Any:
    """The example as it is, after so many rounds of work."""
    start = tf.ones((64, 64)) * x[0]
    result = tf.foldl(lambda a, _: tf.tanh(tf.matmul(a, a)), tf.range(rounds), start)
    return x + 0.0 * result[0, 0]


def prepared(x: Any, y: Any) -> Any:
    """The same for an example in each pass, and slow."""
    return slowed(x, 50), y


def noisy(x: Any, y: Any) -> Any:
    """Another draw in each pass."""
    return x + 0.1 * tf.random.normal(tf.shape(x)), y


def slowly_noisy(x: Any, y: Any) -> Any:
    """Another draw in each pass, and not quick: quicker than a large model's step."""
    return slowed(noisy(x, y)[0], 12), y


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


def parsed_batch(records: Any) -> Any:
    """The same of a batch."""
    x = tf.ensure_shape(tf.cast(tf.io.decode_raw(records, tf.uint8), tf.float32), (None, 8))
    return x, x[:, :1]


def uneven(count: int) -> Callable[[Any], Any]:
    """Makes batches by their number; a few take many times as long as most."""
    lengths = np.random.default_rng(0).exponential(0.03, count)

    def wait(place: np.ndarray) -> np.ndarray:
        time.sleep(lengths[place])
        return np.ones((8, 8), "float32")

    def made(place: Any) -> Any:
        x = tf.ensure_shape(tf.numpy_function(wait, [place], tf.float32), (8, 8))
        return x, x[:, :1]

    return made


def lengths_that_vary(every: int = 1) -> Callable[[int], tf.data.Dataset]:
    """Batches of sequences of many lengths: each, or one of so many, as long as its longest."""

    def source(times: int) -> tf.data.Dataset:
        lengths = np.random.default_rng(0).integers(8, 28, 400 * times)
        lengths[np.arange(400 * times) % every != 0] = 16

        def ones(length: Any) -> Any:
            return tf.ones((8, length, 4)), tf.ones((8, length, 1))

        return tf.data.Dataset.from_tensor_slices(lengths).map(ones)

    return source


def another_length_each_time() -> tf.data.Dataset:
    """No two batches are of one length."""

    def ones(place: Any) -> Any:
        return tf.ones((8, 8 + place, 4)), tf.ones((8, 8 + place, 1))

    return tf.data.Dataset.range(70).map(ones)


def sequences(times: int) -> tf.data.Dataset:
    """Of many lengths, for batches that pad each to the longest."""
    lengths = np.random.default_rng(0).integers(8, 61, 3200 * times)

    def ones(length: Any) -> Any:
        return tf.ones((length, 4)), tf.ones((length, 1))

    return tf.data.Dataset.from_tensor_slices(lengths).map(ones)


def sequence_model() -> keras.Model:
    """Of any length."""
    return keras.Sequential([layers.Input((None, 4)), layers.Dense(8), layers.Dense(1)])
