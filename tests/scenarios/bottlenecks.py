"""Small training programs, each with one bottleneck that was put there, and the way to mend it.

`benchmarks/diagnosis.py` runs them too, as they are and mended as advised.
"""

from __future__ import annotations

import gc
import io
import os
import tempfile
import time
import timeit
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Callbacks = list[keras.callbacks.Callback]
layers = keras.layers


@dataclass(frozen=True)
class Scenario:
    """One program.

    Attributes:
        train: runs it with these callbacks; mended if told so.
        verdicts: those that are right.
        top: the id that must come first; None if nothing must be advised.
        part: where the injected time has to be found, a part of the step or one outside of it.
        injected_ms: how much of it per step, at least; 0 where it is not known.
        by_the_clock: it is, and so is the argument `ms`; else a slow machine takes longer for it.
        at_a_time: so many of the waits go on at a time.
        needs_cores: `top` would buy nothing, and is not advised, where others use all of them.
        never: ids that would be wrong.
        traced: the prediction rests on a trace, so one is taken.
        variants: other arguments of `train`, for the benchmark to vary what is injected.
    """

    name: str
    train: Callable[..., None]
    verdicts: tuple[str, ...]
    top: str | None
    part: str | None = None
    injected_ms: float = 0.0
    by_the_clock: bool = False
    at_a_time: int = 1
    needs_cores: bool = False
    never: tuple[str, ...] = ()
    traced: bool = False
    variants: tuple[Mapping[str, Any], ...] = ()


SCENARIOS: list[Scenario] = []

INJECTED: list[float] = []
"""Seconds that each wait for storage really took: a busy machine is late to wake."""


def scenario(**expected: Any) -> Callable[[Callable[..., None]], None]:
    """Adds the function as a scenario of its name."""

    def add(train: Callable[..., None]) -> None:
        SCENARIOS.append(Scenario(train.__name__, train, **expected))

    return add


# -- what the programs are made of -------------------------------------------------------


def mlp(width: int = 16, *, features: int = 8, **arguments: Any) -> keras.Model:
    """Compiled; `width` sets how long a step computes."""
    keras.utils.set_random_seed(1)
    hidden = [layers.Dense(width, "relu") for _ in range(2)]
    model = keras.Sequential([layers.Input((features,)), *hidden, layers.Dense(1)])
    model.compile("sgd", "mse", **{"jit_compile": False, **arguments})
    return model


def batches(steps: int, rows: int = 8, features: int = 8) -> tf.data.Dataset:
    """Cheap batches."""
    x = np.random.default_rng(0).normal(size=(steps * rows, features)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(rows, drop_remainder=True)


def slept(ms: float) -> Callable[[Any, Any], Any]:
    """A map's function that waits, as for storage, and is as stateful as reading is."""

    def wait(x: np.ndarray) -> np.ndarray:
        begin = time.perf_counter()
        time.sleep(ms / 1e3)
        INJECTED.append(time.perf_counter() - begin)
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape), y

    return mapped


def computed(times: int) -> Callable[[Any, Any], Any]:
    """A map's function that keeps one core busy."""

    def mapped(x: Any, y: Any) -> Any:
        start = tf.ones((64, 64)) * x[0, 0]
        result = tf.foldl(lambda a, _: tf.tanh(tf.matmul(a, a)), tf.range(times), start)
        return x + 0.0 * result[0, 0], y

    return mapped


def unbuffered(data: tf.data.Dataset) -> tf.data.Dataset:
    """Without the prefetch that tf.data adds by itself."""
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return data.with_options(options)


def busy(ms: float) -> None:
    """Works for so long."""
    end = time.perf_counter() + ms / 1e3
    while time.perf_counter() < end:
        pass


@cache
def rounds_per_ms() -> float:
    """How many rounds of an empty loop this machine does in a millisecond."""
    rounds = 100_000
    return rounds / 1e3 / min(timeit.repeat("for _ in range(100_000): pass", number=1, repeat=5))


def work(ms: float) -> None:
    """Python code that takes so long alone, and longer where it has to share a core."""
    for _ in range(int(ms * rounds_per_ms())):
        pass


class Hook(keras.callbacks.Callback):
    """Works so many milliseconds every so many batches."""

    def __init__(self, ms: float, every: int = 1) -> None:
        super().__init__()
        self.ms, self.every = ms, every

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch % self.every == 0:
            busy(self.ms)


class Pause(Hook):
    """Waits, with the CPUs free for the input pipeline."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(self.ms / 1e3)


class EpochHook(keras.callbacks.Callback):
    """Works so many milliseconds every so many epochs."""

    def __init__(self, ms: float, every: int = 1) -> None:
        super().__init__()
        self.ms, self.every = ms, every

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch % self.every == 0:
            busy(self.ms)


# -- the input pipeline ------------------------------------------------------------------


@scenario(
    verdicts=("input-bound",),
    top="parallel-map",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    variants=({"ms": 2.0}, {"ms": 20.0}, {"width": 512, "rows": 256}),
)
def slow_sequential_map(
    callbacks: Callbacks, mended: bool, *, ms: float = 6.0, width: int = 16, rows: int = 8
) -> None:
    """A map waits for storage, one batch after the other."""
    calls = {"num_parallel_calls": 2} if mended else {}
    data = batches(150, rows).map(slept(ms), **calls).prefetch(2)
    mlp(width).fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",), top=None, part="input_wait", never=("parallel-map", "prefetch")
)
def parallel_map_that_fills_the_cores(callbacks: Callbacks, mended: bool) -> None:
    """More threads would not help, and nothing is repeated: there is nothing to advise."""
    data = batches(150).map(computed(600), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
    mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",),
    top="interleave",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    variants=({"ms": 2.0}, {"ms": 15.0}, {"records": 16}),
)
def many_small_files(
    callbacks: Callbacks, mended: bool, *, ms: float = 6.0, records: int = 8
) -> None:
    """Each file holds one batch and takes a while to open; they are read one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, f"{place:03}.tfrecord")) for place in range(150)]
        for file in files:
            with tf.io.TFRecordWriter(file) as out:
                for _ in range(records):
                    out.write(bytes(8))

        def opened(file: Any, label: Any = 0) -> Any:
            return slept(ms)(file, label)[0]

        def read(file: Any) -> tf.data.Dataset:
            return tf.data.Dataset.from_tensors(file).map(opened).flat_map(tf.data.TFRecordDataset)

        names = tf.data.Dataset.from_tensor_slices(files)
        calls = {"num_parallel_calls": 2, "cycle_length": 2} if mended else {}
        lines = names.interleave(read, **calls) if mended else names.flat_map(read)

        def parse(record: Any) -> Any:
            x = tf.ensure_shape(tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32), (8,))
            return x, x[:1]

        data = lines.map(parse).batch(8, drop_remainder=True).prefetch(2)
        mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",),
    top="prefetch",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    variants=({"pause": 0.0, "width": 512}, {"ms": 2.0, "pause": 1.0}),
)
def no_prefetch(
    callbacks: Callbacks, mended: bool, *, ms: float = 6.0, pause: float = 2 / 3, width: int = 16
) -> None:
    """Input and training take turns, each about as long: `pause` is a part of `ms`."""
    data = batches(150, 256 if width > 16 else 8).map(slept(ms))
    data = data.prefetch(2) if mended else unbuffered(data)
    pauses = [Pause(pause * ms)] if pause else []
    mlp(width).fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, *pauses])


@scenario(
    verdicts=("input-bound",),
    top="cache",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    variants=({"epochs": 5}, {"ms": 2.0}, {"ms": 15.0}, {"width": 512}),
)
def the_same_work_in_each_epoch(
    callbacks: Callbacks, mended: bool, *, ms: float = 6.0, epochs: int = 16, width: int = 16
) -> None:
    """Preparation is repeated in each of many epochs."""
    data = batches(30, 256 if width > 16 else 8).map(slept(ms), num_parallel_calls=1)
    data = data.cache() if mended else data
    mlp(width).fit(data.prefetch(2), epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)


class Batches(keras.utils.PyDataset):
    """Batches that take time to make: a wait, or Python's own work."""

    def __init__(self, ms: float, *, works: bool = False, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.ms, self.works = ms, works
        rounds_per_ms()

    def __len__(self) -> int:
        return 250

    def __getitem__(self, index: int) -> Any:
        if self.works:
            work(self.ms)
        else:
            time.sleep(self.ms / 1e3)
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


@scenario(
    verdicts=("input-bound",),
    top="parallel-input",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    variants=({"ms": 2.0}, {"ms": 15.0}, {"width": 512}),
)
def python_generator(
    callbacks: Callbacks, mended: bool, *, ms: float = 6.0, width: int = 16
) -> None:
    """One Python thread makes the batches."""
    source = Batches(ms, workers=2) if mended else Batches(ms)
    data = source if mended else (source[place] for place in range(len(source)))
    mlp(width).fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",),
    top="parallel-input",
    needs_cores=True,
    never=("parallel-map",),
    variants=({"made_by": "map"}, {"made_by": "PyDataset"}, {"ms": 3.0}, {"ms": 15.0}),
)
def python_that_holds_the_interpreter(
    callbacks: Callbacks, mended: bool, *, ms: float = 6.0, made_by: str = "generator"
) -> None:
    """Python makes the batches and never pauses: the train function waits for the interpreter.

    So the wait is not one in the iterator's GetNext.
    """
    source = Batches(ms, works=True)
    if mended:
        data = Batches(ms, works=True, workers=2, use_multiprocessing=True)
    elif made_by == "generator":
        data = (source[place] for place in range(len(source)))
    elif made_by == "map":

        def mapped(x: Any, y: Any) -> Any:
            return tf.ensure_shape(
                tf.numpy_function(lambda _: source[0][0], [x], x.dtype), (8, 8)
            ), y

        data = batches(len(source)).map(mapped).prefetch(2)
    else:
        data = source
    mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",),
    top="batch-before-map",
    part="input_wait",
    variants=(
        {"rows": 256},
        {"features": 64},
        {"width": 256},
        {"operations": 8},
        {"shuffled": True},
        {"rows": 64, "width": 64},
    ),
)
def a_cheap_map_for_each_example(
    callbacks: Callbacks,
    mended: bool,
    *,
    rows: int = 2048,
    features: int = 2,
    width: int = 16,
    operations: int = 1,
    shuffled: bool = False,
    **calls: Any,
) -> None:
    """The map's function is called for every example, and calling it is most of its cost."""
    x = np.ones((rows * 50, features), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1]))
    if shuffled:
        data = data.shuffle(4 * rows, seed=1)

    def scaled(x: Any, y: Any) -> Any:
        for _ in range(operations):
            x = 2.0 * x
        return x, y

    if mended:
        data = data.batch(rows, drop_remainder=True).map(scaled, **calls)
    else:
        data = data.map(scaled, **calls).batch(rows, drop_remainder=True)
    mlp(width, features=features).fit(
        data.prefetch(2), verbose=0, shuffle=False, callbacks=callbacks
    )


@scenario(
    verdicts=("input-bound",),
    top="private-threadpool",
    part="input_wait",
    injected_ms=20.0,
    by_the_clock=True,
    at_a_time=len(os.sched_getaffinity(0)),
    needs_cores=True,
    variants=({"ms": 6.0}, {"ms": 60.0}, {"width": 512}),
)
def parallel_map_that_waits(
    callbacks: Callbacks, mended: bool, *, ms: float = 20.0, width: int = 16
) -> None:
    """Many calls wait for storage at a time, but of TensorFlow's threads there is one a core."""
    data = batches(300, 256 if width > 16 else 8)
    data = data.map(slept(ms), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
    if mended:
        options = tf.data.Options()
        options.threading.private_threadpool_size = 16 if ms < 20 else 64
        data = data.with_options(options)
    mlp(width).fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",),
    top="nondeterministic-order",
    part="input_wait",
    by_the_clock=True,
    needs_cores=True,
    variants=({"ms": 12.0}, {"ms": 6.0, "threads": 4}),
)
def uneven_elements_in_order(
    callbacks: Callbacks, mended: bool, *, ms: float = 40.0, threads: int = 8
) -> None:
    """A few elements take many times as long as most, and those behind them are held back."""
    lengths = np.random.default_rng(0).exponential(ms / 1e3, 400)

    def wait(place: np.ndarray) -> np.ndarray:
        time.sleep(lengths[place])
        return np.ones((8, 8), "float32")

    def made(place: Any) -> Any:
        x = tf.ensure_shape(tf.numpy_function(wait, [place], tf.float32), (8, 8))
        return x, x[:, :1]

    data = tf.data.Dataset.range(400).map(made, num_parallel_calls=threads).prefetch(1)
    options = tf.data.Options()
    options.deterministic = not mended
    options.threading.private_threadpool_size = 16
    data = data.with_options(options)
    mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)


# -- callbacks ---------------------------------------------------------------------------


@scenario(
    verdicts=("callback-bound",),
    top="amortize-callback",
    part="callbacks",
    injected_ms=10.0,
    by_the_clock=True,
    variants=({"ms": 3.0}, {"ms": 30.0}, {"width": 16}, {"ms": 1.0, "width": 16}),
)
def slow_batch_callback(
    callbacks: Callbacks, mended: bool, *, ms: float = 10.0, width: int = 512
) -> None:
    """A callback works after every batch."""
    mlp(width).fit(
        batches(150, rows=256),
        verbose=0,
        shuffle=False,
        callbacks=[*callbacks, Hook(ms, 20 if mended else 1)],
    )


@scenario(
    verdicts=("callback-bound",),
    top="amortize-callback",
    part="epoch_callbacks",
    injected_ms=5.0,
    by_the_clock=True,
)
def slow_epoch_callback(callbacks: Callbacks, mended: bool, *, ms: float = 300.0) -> None:
    """A callback works after every epoch, for longer than the epoch."""
    hook = EpochHook(ms, 5 if mended else 1)
    mlp().fit(batches(60), epochs=10, verbose=0, shuffle=False, callbacks=[*callbacks, hook])


@scenario(
    verdicts=("callback-bound",),
    top="amortize-callback",
    part="callbacks",
    variants=({"width": 64}, {"width": 1024}, {"every": 3}),
)
def checkpoint_every_few_batches(
    callbacks: Callbacks, mended: bool, *, width: int = 512, every: int = 1
) -> None:
    """Keras's own ModelCheckpoint, too often."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "{batch}.weights.h5"))
        often = keras.callbacks.ModelCheckpoint(
            path, save_weights_only=True, save_freq=20 * every if mended else every
        )
        data = batches(100, rows=256)
        mlp(width).fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, often])


class Chatter(keras.callbacks.Callback):
    """Formats a line for every batch, as progress bars do."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.out = every, io.StringIO()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch % self.every == 0:
            for width in range(2000):
                self.out.write(f"\r{batch}: {width} {logs}")
            self.out.seek(0)


@scenario(verdicts=("callback-bound",), top="amortize-callback", part="callbacks")
def chatter(callbacks: Callbacks, mended: bool) -> None:
    """A line is written for every batch."""
    mlp().fit(
        batches(200), verbose=0, shuffle=False, callbacks=[*callbacks, Chatter(20 if mended else 1)]
    )


# -- compiling and dispatch --------------------------------------------------------------


@scenario(
    verdicts=("compile-bound",),
    top="stable-shapes",
    part="compile",
    variants=({"every": 40}, {"every": 10}, {"width": 128}),
)
def shapes_that_change(
    callbacks: Callbacks, mended: bool, *, every: int = 20, width: int = 8
) -> None:
    """XLA compiles for every new length of a sequence."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Input((None, 4)), layers.Dense(width), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)

    def ones(place: Any) -> Any:
        longer = tf.where(place % every == 0, place // every, 0)
        length = 16 if mended else 16 + longer
        return tf.ones((8, length, 4)), tf.ones((8, length, 1))

    data = tf.data.Dataset.range(200).map(ones)
    model.fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(verdicts=("compile-bound",), top="stable-shapes", part="compile")
def every_batch_as_long_as_its_longest(callbacks: Callbacks, mended: bool) -> None:
    """Batches are padded to their own longest sequence, and XLA compiles for each such length."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Input((None, 4)), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    lengths = np.random.default_rng(0).integers(8, 24, 150)

    def ones(length: Any) -> Any:
        length = 24 if mended else length
        return tf.ones((8, length, 4)), tf.ones((8, length, 1))

    data = tf.data.Dataset.from_tensor_slices(lengths).map(ones)
    model.fit(data, verbose=0, shuffle=False, callbacks=callbacks)


class Unfreezes(keras.callbacks.Callback):
    """Makes the train function anew every so many batches, for other layers."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch % self.every == self.every - 1:
            self.model.layers[0].trainable ^= True
            self.model.make_train_function(force=True)


@scenario(verdicts=("compile-bound",), top="stable-shapes", part="compile")
def train_function_made_anew(callbacks: Callbacks, mended: bool) -> None:
    """TensorFlow traces the train function again, for a callback that unfreezes layers by turns.

    Shapes that change do not lead there: within a `fit` the iterator has one signature.
    """
    unfreezes = [] if mended else [Unfreezes(25)]
    mlp().fit(batches(200), verbose=0, shuffle=False, callbacks=[*callbacks, *unfreezes])


@scenario(
    verdicts=("compile-bound",),
    top="stable-shapes",
    part="compile",
    variants=({"steps": 300}, {"width": 256}),
)
def partial_last_batch_under_xla(
    callbacks: Callbacks, mended: bool, *, steps: int = 120, width: int = 16
) -> None:
    """The last batch is smaller, and XLA compiles again for it."""
    x = np.ones((steps * 8 + 3, 8), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8, drop_remainder=mended)
    mlp(width, jit_compile=True).fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("dispatch-bound",),
    top="raise-steps-per-execution",
    variants=({"width": 64, "rows": 32}, {"width": 128, "rows": 64}, {"rows": 64}),
)
def tiny_model(callbacks: Callbacks, mended: bool, *, width: int = 16, rows: int = 8) -> None:
    """A step is cheaper than entering and leaving the train function."""
    arguments = {"steps_per_execution": 64} if mended else {}
    mlp(width, **arguments).fit(
        batches(640, rows), epochs=4, verbose=0, shuffle=False, callbacks=callbacks
    )


@scenario(
    verdicts=("eager-bound",),
    top="disable-run-eagerly",
    traced=True,
    variants=({"width": 256, "rows": 64}, {"width": 512, "rows": 256}),
)
def eager(callbacks: Callbacks, mended: bool, *, width: int = 16, rows: int = 8) -> None:
    """Every operation is run from Python."""
    mlp(width, run_eagerly=not mended).fit(
        batches(100, rows), verbose=0, shuffle=False, callbacks=callbacks
    )


# -- the host, and what lies between epochs ----------------------------------------------


class Litter(keras.callbacks.Callback):
    """Makes many objects that live on for some batches."""

    def __init__(self, objects: int) -> None:
        super().__init__()
        self.objects = objects

    def on_train_begin(self, logs: Any = None) -> None:
        self.living: deque[Any] = deque(maxlen=20)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.living.append([[] for _ in range(self.objects)])


@scenario(
    verdicts=("callback-bound",),
    top="tune-gc",
    part="callbacks",
    variants=({"objects": 3000}, {"objects": 30_000}, {"width": 64}),
)
def garbage_storm(
    callbacks: Callbacks, mended: bool, *, objects: int = 10_000, width: int = 512
) -> None:
    """Python's collector searches many living objects again and again."""
    usual = gc.get_threshold()
    gc.collect()
    # What lives before is not this program's: in a long test run it is far more.
    gc.freeze()
    if mended:
        gc.set_threshold(100_000, 50, 100)
    try:
        data = batches(150, rows=256)
        mlp(width).fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, Litter(objects)])
    finally:
        gc.set_threshold(*usual)


@scenario(
    verdicts=("compute-bound", "dispatch-bound", "input-bound"),
    top="rarer-validation",
    part="validation",
    variants=({"width": 16}, {"batches_of_it": 100}, {"width": 512}),
)
def large_validation(
    callbacks: Callbacks, mended: bool, *, width: int = 256, batches_of_it: int = 400
) -> None:
    """Validation takes longer than the epoch that it follows."""
    mlp(width).fit(
        batches(60),
        epochs=6,
        validation_data=batches(batches_of_it),
        validation_freq=5 if mended else 1,
        verbose=0,
        shuffle=False,
        callbacks=callbacks,
    )


# -- nothing to mend ---------------------------------------------------------------------


@scenario(verdicts=("compute-bound",), top=None, part="compute")
def healthy(callbacks: Callbacks, mended: bool) -> None:
    """The model's own computation takes nearly all of the step."""
    data = batches(80, rows=256, features=512).cache().prefetch(2)
    mlp(768, features=512).fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(verdicts=("inconclusive",), top=None)
def too_short(callbacks: Callbacks, mended: bool) -> None:
    """Training ends within the warm-up."""
    mlp().fit(batches(15).map(slept(6.0)), verbose=0, shuffle=False, callbacks=callbacks)
