"""Small training programs, each with one bottleneck that was put there."""

from __future__ import annotations

import gc
import io
import os
import tempfile
import time
import timeit
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import keras
import numpy as np
import tensorflow as tf

from keras_perf.advise.rules.input.files_and_order import IDLE_PCT
from keras_perf.report.diagnosis import Diagnosis

Callbacks = list[keras.callbacks.Callback]
layers = keras.layers

ON_TENSORFLOW = keras.backend.backend() == "tensorflow"


@dataclass(frozen=True)
class Scenario:
    """One program.

    Attributes:
        train: runs it with these callbacks.
        verdicts: those that are right.
        top: the id that must come first; None if nothing must be advised.
        part: where the injected time has to be found, a part of the step or one outside of it.
        injected_ms: how much of it per step, at least; 0 where it is not known.
        by_the_clock: it is, and so is the argument `ms`; else a slow machine takes longer for it.
        at_a_time: so many of the waits go on at a time.
        all_seen: nothing is prepared while a step computes, or what is measured is only the wait.
        measured_apart: in other trainings, before and after, so that the bounds are wider.
        needs_cores: `top` would buy nothing, and is not advised, where others use all of them.
        told_on_idle_cores: it lies in `compute` too, and where others use all cores, it may seem
            a slow model.
        never: ids that would be wrong.
        traced: the prediction rests on a trace, so one is taken, of eight steps.
    """

    name: str
    train: Callable[..., None]
    verdicts: tuple[str, ...]
    top: str | None
    part: str | None = None
    injected_ms: float = 0.0
    by_the_clock: bool = False
    at_a_time: int = 1
    all_seen: bool = False
    measured_apart: bool = False
    needs_cores: bool = False
    told_on_idle_cores: bool = False
    never: tuple[str, ...] = ()
    traced: bool = False


SCENARIOS: list[Scenario] = []

INJECTED: list[float] = []
"""How many times as long as it was meant to each wait or piece of work really took: a busy machine
is late to wake, and works on something else meanwhile."""

MEASURED: list[float] = []
"""Milliseconds a step of what nobody sets the length of, by a clock beside it."""


@contextmanager
def injected(ms: float) -> Iterator[None]:
    """What is put into a program, and is meant to take so long."""
    begin = time.perf_counter()
    yield
    INJECTED.append(1e3 * (time.perf_counter() - begin) / ms)


@contextmanager
def measured() -> Iterator[None]:
    """What is put into each step, and takes what it takes."""
    begin = time.perf_counter()
    yield
    MEASURED.append(1e3 * (time.perf_counter() - begin))


def scenario(**expected: Any) -> Callable[[Callable[..., None]], None]:
    """Adds the function as a scenario of its name."""

    def add(train: Callable[..., None]) -> None:
        SCENARIOS.append(Scenario(train.__name__, train, **expected))

    return add


# -- what the programs are made of -------------------------------------------------------


def mlp(
    width: int = 16,
    *,
    features: int = 8,
    kind: type[keras.Sequential] = keras.Sequential,
    **arguments: Any,
) -> keras.Model:
    """Compiled; `width` sets how long a step computes."""
    keras.utils.set_random_seed(1)
    hidden = [layers.Dense(width, "relu") for _ in range(2)]
    model = kind([layers.Input((features,)), *hidden, layers.Dense(1)])
    # On JAX no compiling at all would be left.
    usual = {"jit_compile": False} if ON_TENSORFLOW else {}
    model.compile("sgd", "mse", **usual | arguments)
    return model


def batches(steps: int, rows: int = 8, features: int = 8) -> tf.data.Dataset:
    """Cheap batches."""
    x = np.random.default_rng(0).normal(size=(steps * rows, features)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(rows, drop_remainder=True)


def slept(ms: float) -> Callable[[Any, Any], Any]:
    """A map's function that waits, as for storage, and is as stateful as reading is."""

    def wait(x: np.ndarray) -> np.ndarray:
        with injected(ms):
            time.sleep(ms / 1e3)
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(wait, [x], x.dtype), x.shape), y

    return mapped


def let_pass(ms: float) -> Callable[[Any, Any], Any]:
    """A filter's function that waits likewise; no number of threads can share a filter's work."""

    def wait(x: np.ndarray) -> np.bool_:
        with injected(ms):
            time.sleep(ms / 1e3)
        return np.bool_(True)

    return lambda x, y: tf.ensure_shape(tf.numpy_function(wait, [x], tf.bool), ())


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


def has_spare_cores(found: Diagnosis) -> bool:
    """Whether there were, as the rules take it from the same run."""
    cores = found.summary.facts.machine.cores
    return cores > 1 and found.summary.sensors.get("host/cpu_pct", 100.0) <= IDLE_PCT


@cache
def usual_step_ms() -> float:
    """What the smallest model's step takes here and now, by a clock of its own.

    Kept, so that all of one training is told the same; whoever starts the next one clears it.
    """
    model, data = mlp(), batches(200)
    model.fit(data, verbose=0, shuffle=False)
    begin = time.perf_counter()
    model.fit(data, verbose=0, shuffle=False)
    return 1e3 * (time.perf_counter() - begin) / 200


@cache
def paused_step_ms() -> float:
    """What it takes where each step comes after a pause, as one does that waits for its input.

    A processor that has rested is slower, and memory may be slow to touch again.
    """
    model, data, times = mlp(), batches(12), StepTimes()
    model.fit(data, verbose=0, shuffle=False)
    model.fit(data, verbose=0, shuffle=False, callbacks=[times, Rest(20.0)])
    return float(np.median(times.took_ms))


def steps_are_measured_anew() -> None:
    """Of the next training: the machine may be another by then."""
    usual_step_ms.cache_clear()
    paused_step_ms.cache_clear()


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
    """Works so many milliseconds after every batch."""

    def __init__(self, ms: float) -> None:
        super().__init__()
        self.ms = ms

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with injected(self.ms):
            busy(self.ms)


class Pause(Hook):
    """Waits, with the CPUs free for the input pipeline."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(self.ms / 1e3)


class Rest(Pause):
    """The same, under a name of its own."""


class StepTimes(keras.callbacks.Callback):
    """Takes the time of each execution."""

    def __init__(self) -> None:
        super().__init__()
        self.took_ms: list[float] = []

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.begin = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.took_ms.append(1e3 * (time.perf_counter() - self.begin))


class Executions(StepTimes):
    """Measures what executions take, with the wait for their batch, beyond so much of it.

    A mean, as the figure that is held against it is one: single batches may come late.
    """

    def __init__(self, beyond_ms: float = 0.0) -> None:
        super().__init__()
        self.beyond_ms = beyond_ms

    def on_train_end(self, logs: Any = None) -> None:
        MEASURED.append(float(np.mean(self.took_ms[10:])) - self.beyond_ms)


class Stamped(keras.Sequential):
    """Keeps when the latest step asked for its batch and when it had it, by TensorFlow's clock.

    Both are Unix times in seconds. On JAX, whose compiled steps have no clock, a model as any.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.asked_s, self.had_s = (tf.Variable(0.0, False, dtype=tf.float64) for _ in range(2))

    def make_train_function(self, force: bool = False) -> Any:
        if not ON_TENSORFLOW:
            return super().make_train_function(force)

        @tf.function
        def train_function(iterator: Any) -> Any:
            with tf.control_dependencies([self.asked_s.assign(tf.timestamp())]):
                data = next(iterator)
            with tf.control_dependencies([data[0]]):
                self.had_s.assign(tf.timestamp())
            return self.train_step(data)

        self.train_function = train_function
        return train_function


class Waits(StepTimes):
    """Measures how long the executions of a `Stamped` model wait for their batch.

    What they take beyond the smallest model's step is more than that where the pipeline keeps the
    cores busy, beside which a step computes for longer. On JAX nothing better is known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.usual_ms = 0.0 if ON_TENSORFLOW else usual_step_ms()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        super().on_train_batch_end(batch, logs)
        if ON_TENSORFLOW:
            self.took_ms[-1] = 1e3 * float(self.model.had_s - self.model.asked_s)

    def on_train_end(self, logs: Any = None) -> None:
        MEASURED.append(float(np.mean(self.took_ms[10:])) - self.usual_ms)


def waits() -> Callbacks:
    """To be given to a `Stamped` model; on JAX nothing tells that is better than what was slept."""
    return [Waits()] if ON_TENSORFLOW else []


class Compilations(StepTimes):
    """Measures what the executions take that are known to compile, beyond what others do.

    Arguments:
        compiles: whether the execution of this number, of all epochs, does.
    """

    def __init__(self, compiles: Callable[[int], bool]) -> None:
        super().__init__()
        self.compiles = compiles

    def on_train_end(self, logs: Any = None) -> None:
        # The first ten are warm-up.
        later = range(10, len(self.took_ms))
        usual = np.median([self.took_ms[k] for k in later if not self.compiles(k)])
        MEASURED.extend(self.took_ms[k] - usual if self.compiles(k) else 0.0 for k in later)


class EpochHook(keras.callbacks.Callback):
    """Works so many milliseconds after every epoch."""

    def __init__(self, ms: float) -> None:
        super().__init__()
        self.ms = ms

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with injected(self.ms):
            busy(self.ms)


# -- the input pipeline ------------------------------------------------------------------


@scenario(
    verdicts=("input-bound",),
    top="parallel-map",
    part="input_wait",
    injected_ms=15.0,
    by_the_clock=True,
    all_seen=ON_TENSORFLOW,
)
def slow_sequential_map(callbacks: Callbacks, *, ms: float = 15.0) -> None:
    """A map waits for storage, one batch after the other."""
    data = batches(150).map(slept(ms)).prefetch(2)
    watched = [*callbacks, *waits()]
    mlp(kind=Stamped).fit(data, verbose=0, shuffle=False, callbacks=watched)


@scenario(
    verdicts=("input-bound",),
    top=None,
    part="input_wait",
    all_seen=True,
    never=("parallel-map", "prefetch"),
)
def parallel_map_that_fills_the_cores(callbacks: Callbacks) -> None:
    """More threads would not help, and nothing is repeated: there is nothing to advise."""
    data = batches(100).map(computed(1800), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
    mlp(kind=Stamped).fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, Waits()])


@scenario(
    verdicts=("input-bound",),
    top="interleave",
    part="input_wait",
    injected_ms=18.0,
    by_the_clock=True,
    all_seen=ON_TENSORFLOW,
)
def many_small_files(callbacks: Callbacks, *, ms: float = 18.0) -> None:
    """Each file holds one batch and takes a while to open; they are read one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, f"{place:03}.tfrecord")) for place in range(120)]
        for file in files:
            with tf.io.TFRecordWriter(file) as out:
                for _ in range(8):
                    out.write(bytes(8))

        def opened(file: Any, label: Any = 0) -> Any:
            return slept(ms)(file, label)[0]

        def read(file: Any) -> tf.data.Dataset:
            return tf.data.Dataset.from_tensors(file).map(opened).flat_map(tf.data.TFRecordDataset)

        lines = tf.data.Dataset.from_tensor_slices(files).flat_map(read)

        def parse(record: Any) -> Any:
            x = tf.ensure_shape(tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32), (8,))
            return x, x[:1]

        data = lines.map(parse).batch(8, drop_remainder=True).prefetch(2)
        watched = [*callbacks, *waits()]
        mlp(kind=Stamped).fit(data, verbose=0, shuffle=False, callbacks=watched)


@scenario(
    verdicts=("input-bound",),
    top="prefetch",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    all_seen=True,
)
def no_prefetch(callbacks: Callbacks, *, ms: float = 6.0) -> None:
    """Input and training take turns, each about as long.

    Two hooks share the training's part: without one of them less is gained than by taking turns no
    longer, however quickly the model computes.
    """
    data = unbuffered(batches(150).filter(let_pass(ms)))
    pauses = [Pause(ms / 3), Rest(ms / 3)]
    mlp().fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, *pauses])


@scenario(
    verdicts=("input-bound",),
    top="cache",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    all_seen=ON_TENSORFLOW,
)
def the_same_work_in_each_epoch(callbacks: Callbacks, *, ms: float = 6.0) -> None:
    """Preparation is repeated in each of many epochs."""
    data = batches(30).map(slept(ms), num_parallel_calls=1)
    model, watched = mlp(kind=Stamped), [*callbacks, *waits()]
    model.fit(data.prefetch(2), epochs=16, verbose=0, shuffle=False, callbacks=watched)


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
            with measured():
                work(self.ms)
        else:
            with injected(self.ms):
                time.sleep(self.ms / 1e3)
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


@scenario(
    verdicts=("input-bound",),
    top="parallel-input",
    part="input_wait",
    injected_ms=6.0,
    by_the_clock=True,
    all_seen=ON_TENSORFLOW,
)
def python_generator(callbacks: Callbacks, *, ms: float = 6.0) -> None:
    """One Python thread makes the batches."""
    source = Batches(ms)
    data = (source[place] for place in range(len(source)))
    watched = [*callbacks, *waits()]
    mlp(kind=Stamped).fit(data, verbose=0, shuffle=False, callbacks=watched)


@scenario(
    verdicts=("input-bound",),
    top="parallel-input",
    part="input_wait",
    injected_ms=24.0,
    by_the_clock=True,
    at_a_time=2,
    all_seen=ON_TENSORFLOW,
)
def too_few_workers(callbacks: Callbacks, *, ms: float = 24.0) -> None:
    """Two threads make batches, which are to be waited for."""
    watched = [*callbacks, *waits()]
    mlp(kind=Stamped).fit(Batches(ms, workers=2), verbose=0, shuffle=False, callbacks=watched)


@scenario(
    verdicts=("input-bound",),
    top="parallel-input",
    part="input_wait",
    needs_cores=True,
    told_on_idle_cores=True,
    never=("parallel-map",),
)
def python_that_holds_the_interpreter(callbacks: Callbacks, *, ms: float = 6.0) -> None:
    """Python makes the batches and never pauses: the train function waits for the interpreter.

    So the wait is not one in the iterator's GetNext, and it takes a spare core to tell it from
    a slow model.
    """
    source = Batches(ms, works=True)
    data = (source[place] for place in range(len(source)))
    mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("input-bound",),
    top="batch-before-map",
    part="input_wait",
    all_seen=True,
)
def a_cheap_map_for_each_example(callbacks: Callbacks) -> None:
    """The map's function is called for every example, and calling it is most of its cost."""
    x = np.ones((2048 * 50, 2), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1]))
    data = data.map(lambda x, y: (2.0 * x, y)).batch(2048, drop_remainder=True).prefetch(2)
    model, watched = mlp(features=2, kind=Stamped), [*callbacks, Waits()]
    model.fit(data, verbose=0, shuffle=False, callbacks=watched)


@scenario(
    verdicts=("input-bound",),
    top="private-threadpool",
    part="input_wait",
    injected_ms=20.0,
    by_the_clock=True,
    at_a_time=len(os.sched_getaffinity(0)),
    all_seen=ON_TENSORFLOW,
    needs_cores=True,
)
def parallel_map_that_waits(callbacks: Callbacks, *, ms: float = 20.0) -> None:
    """Many calls wait for storage at a time, but of TensorFlow's threads there is one a core."""
    data = batches(300).map(slept(ms), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
    watched = [*callbacks, *waits()]
    mlp(kind=Stamped).fit(data, verbose=0, shuffle=False, callbacks=watched)


def in_order_ms(lengths: np.ndarray, at_a_time: int) -> float:
    """What an element takes where as many are made at a time, and each waits for those before it.

    The next is begun when one leaves.
    """
    left = [0.0] * at_a_time
    for length in lengths:
        left.append(max(left[-at_a_time] + length, left[-1]))
    return left[-1] / len(lengths)


@scenario(
    verdicts=("input-bound",),
    top="nondeterministic-order",
    part="input_wait",
    by_the_clock=True,
    needs_cores=True,
)
def uneven_elements_in_order(callbacks: Callbacks, *, ms: float = 40.0) -> None:
    """A few elements take many times as long as most, and those behind them are held back."""
    lengths = np.random.default_rng(0).exponential(ms / 1e3, 400)
    took_ms = np.zeros(400)

    def wait(place: np.ndarray) -> np.ndarray:
        begin = time.perf_counter()
        time.sleep(lengths[place])
        took_ms[place] = 1e3 * (time.perf_counter() - begin)
        return np.ones((8, 8), "float32")

    def made(place: Any) -> Any:
        x = tf.ensure_shape(tf.numpy_function(wait, [place], tf.float32), (8, 8))
        return x, x[:, :1]

    data = tf.data.Dataset.range(400).map(made, num_parallel_calls=8).prefetch(1)
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 16
    data = data.with_options(options)
    mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)
    MEASURED.append(in_order_ms(took_ms, 8))


# -- callbacks ---------------------------------------------------------------------------


@scenario(
    verdicts=("callback-bound",),
    top="amortize-callback",
    part="callbacks",
    injected_ms=10.0,
    by_the_clock=True,
)
def slow_batch_callback(callbacks: Callbacks, *, ms: float = 10.0) -> None:
    """A callback works after every batch."""
    mlp(512).fit(batches(150, rows=256), verbose=0, shuffle=False, callbacks=[*callbacks, Hook(ms)])


@scenario(
    verdicts=("callback-bound",),
    top="amortize-callback",
    part="epoch_callbacks",
    injected_ms=5.0,
    by_the_clock=True,
)
def slow_epoch_callback(callbacks: Callbacks, *, ms: float = 300.0) -> None:
    """A callback works after every epoch, for longer than the epoch."""
    hook = EpochHook(ms)
    mlp().fit(batches(60), epochs=10, verbose=0, shuffle=False, callbacks=[*callbacks, hook])


class Begins(keras.callbacks.Callback):
    """A clock before another callback."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.at = time.perf_counter()


class Ends(keras.callbacks.Callback):
    """A clock behind it."""

    def __init__(self, begins: Begins) -> None:
        super().__init__()
        self.begins = begins

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        MEASURED.append(1e3 * (time.perf_counter() - self.begins.at))


@scenario(
    verdicts=("callback-bound",),
    top="amortize-callback",
    part="callbacks",
)
def checkpoint_every_few_batches(callbacks: Callbacks) -> None:
    """Keras's own ModelCheckpoint, too often."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "{batch}.weights.h5"))
        often = keras.callbacks.ModelCheckpoint(path, save_weights_only=True, save_freq=1)
        clocked = [begins := Begins(), often, Ends(begins)]
        data = batches(100, rows=256)
        mlp(512).fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, *clocked])


class Chatter(keras.callbacks.Callback):
    """Formats a line for every batch, as progress bars do."""

    def __init__(self) -> None:
        super().__init__()
        self.out = io.StringIO()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with measured():
            for width in range(2000):
                self.out.write(f"\r{batch}: {width} {logs}")
            self.out.seek(0)


@scenario(verdicts=("callback-bound",), top="amortize-callback", part="callbacks")
def chatter(callbacks: Callbacks) -> None:
    """A line is written for every batch."""
    mlp().fit(batches(200), verbose=0, shuffle=False, callbacks=[*callbacks, Chatter()])


# -- compiling and dispatch --------------------------------------------------------------


@scenario(
    verdicts=("compile-bound",),
    top="stable-shapes",
    part="compile",
)
def shapes_that_change(callbacks: Callbacks) -> None:
    """XLA compiles for every new length of a sequence."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Input((None, 4)), layers.Dense(8), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    compilations = Compilations(lambda place: place % 20 == 0)

    def ones(place: Any) -> Any:
        length = 16 + tf.where(place % 20 == 0, place // 20, 0)
        return tf.ones((8, length, 4)), tf.ones((8, length, 1))

    data = tf.data.Dataset.range(200).map(ones)
    model.fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, compilations])


@scenario(verdicts=("compile-bound",), top="stable-shapes", part="compile")
def every_batch_as_long_as_its_longest(callbacks: Callbacks) -> None:
    """Batches are padded to their own longest sequence, and XLA compiles for each such length."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Input((None, 4)), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    lengths = np.random.default_rng(0).integers(8, 24, 150)
    new = set(np.unique(lengths, return_index=True)[1])
    compilations = Compilations(lambda place: place in new)

    def ones(length: Any) -> Any:
        return tf.ones((8, length, 4)), tf.ones((8, length, 1))

    data = tf.data.Dataset.from_tensor_slices(lengths).map(ones)
    model.fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, compilations])


@scenario(verdicts=("compile-bound",), top="stable-shapes", part="compile", traced=True)
def every_batch_of_another_length(callbacks: Callbacks) -> None:
    """XLA compiles in every step, so that none is quick enough to tell the others by."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Input((None, 4)), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)

    def ones(place: Any) -> Any:
        return tf.ones((8, 8 + place, 4)), tf.ones((8, 8 + place, 1))

    data = tf.data.Dataset.range(45).map(ones)
    compilations = Executions(beyond_ms=usual_step_ms())
    model.fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, compilations])


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
def train_function_made_anew(callbacks: Callbacks) -> None:
    """TensorFlow traces the train function again, for a callback that unfreezes layers by turns.

    Shapes that change do not lead there: within a `fit` the iterator has one signature.
    """
    compilations = Compilations(lambda batch: batch % 25 == 0)
    callbacks = [*callbacks, Unfreezes(25), compilations]
    mlp().fit(batches(200), verbose=0, shuffle=False, callbacks=callbacks)


@scenario(
    verdicts=("compile-bound",),
    top="stable-shapes",
    part="compile",
)
def partial_last_batch_under_xla(callbacks: Callbacks) -> None:
    """The last batch is smaller, and XLA compiles again for it."""
    x = np.ones((120 * 8 + 3, 8), "float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
    callbacks = [*callbacks, Compilations(lambda batch: batch == 120)]
    mlp(jit_compile=True).fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)


def entering_and_leaving_ms() -> float:
    """What an execution takes besides its steps, from executions of one step and of 16."""
    took_ms = {}
    for steps in (1, 16):
        times = StepTimes()
        model = mlp(steps_per_execution=steps)
        model.fit(batches(640), epochs=2, verbose=0, shuffle=False, callbacks=[times])
        took_ms[steps] = float(np.median(times.took_ms[10:]))
    return (16 * took_ms[1] - took_ms[16]) / 15


@scenario(
    verdicts=("dispatch-bound",),
    top="raise-steps-per-execution",
    part="dispatch",
    measured_apart=True,
)
def tiny_model(callbacks: Callbacks) -> None:
    """A step is cheaper than entering and leaving the train function."""
    # A clock beside each batch would keep other numbers of steps from being tried.
    MEASURED.append(entering_and_leaving_ms())
    # On a busy machine tracing may take seconds: no reason not to try.
    with patch("keras_perf.observers.steps_trial.steps_to_try.SMALL_COST_S", 100.0):
        mlp().fit(batches(640), epochs=4, verbose=0, shuffle=False, callbacks=callbacks)
    MEASURED.append(entering_and_leaving_ms())


@scenario(
    verdicts=("eager-bound",),
    top="disable-run-eagerly",
    part="compute",
    traced=True,
)
def eager(callbacks: Callbacks) -> None:
    """Every operation is run from Python."""
    callbacks = [*callbacks, Executions()]
    mlp(run_eagerly=True).fit(batches(100), verbose=0, shuffle=False, callbacks=callbacks)


# -- the host, and what lies between epochs ----------------------------------------------


class Litter(keras.callbacks.Callback):
    """Makes many objects that live on for some batches."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.living: deque[Any] = deque(maxlen=20)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        with measured():
            self.living.append([[] for _ in range(10_000)])


@scenario(
    verdicts=("callback-bound",),
    top="tune-gc",
    part="callbacks",
)
def garbage_storm(callbacks: Callbacks) -> None:
    """Python's collector searches many living objects again and again."""
    gc.collect()
    # What lives before is not this program's: in a long test run it is far more.
    gc.freeze()
    data = batches(150, rows=256)
    mlp(512).fit(data, verbose=0, shuffle=False, callbacks=[*callbacks, Litter()])


class Validations(keras.callbacks.Callback):
    """Measures the usual one, but for the first, which is traced: what each step has of it.

    On JAX the epoch's last steps still compute when a validation begins, which is no part of it.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.took_ms: list[float] = []

    def on_test_begin(self, logs: Any = None) -> None:
        keras.ops.convert_to_numpy(self.model.weights[0])
        self.begin = time.perf_counter()

    def on_test_end(self, logs: Any = None) -> None:
        self.took_ms.append(1e3 * (time.perf_counter() - self.begin))

    def on_train_end(self, logs: Any = None) -> None:
        MEASURED.append(float(np.median(self.took_ms[1:])) / self.steps)


@scenario(
    verdicts=("compute-bound", "dispatch-bound", "input-bound"),
    top="rarer-validation",
    part="validation",
)
def large_validation(callbacks: Callbacks) -> None:
    """Validation takes longer than the epoch that it follows, and mostly computes."""
    mlp(1024).fit(
        batches(15, rows=256),
        epochs=6,
        validation_data=batches(100, rows=256),
        verbose=0,
        shuffle=False,
        callbacks=[*callbacks, Validations(15)],
    )


@scenario(verdicts=("callback-bound",), top="call-the-model", part="epoch_callbacks")
def predicts_one_by_one(callbacks: Callbacks) -> None:
    """A callback calls `predict` for one example after the other."""

    class Shows(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            begin = time.perf_counter()
            for _ in range(8):
                self.model.predict(np.zeros((1, 8), "float32"), verbose=0)
            MEASURED.append(1e3 * (time.perf_counter() - begin) / 60)

    mlp().fit(batches(60), epochs=3, verbose=0, shuffle=False, callbacks=[*callbacks, Shows()])


# -- nothing to mend ---------------------------------------------------------------------


@scenario(verdicts=("compute-bound",), top=None, part="compute")
def healthy(callbacks: Callbacks) -> None:
    """The model's own computation takes nearly all of the step."""
    data = batches(80, rows=256, features=512).cache().prefetch(2)
    callbacks = [*callbacks, Executions()]
    mlp(768, features=512).fit(data, verbose=0, shuffle=False, callbacks=callbacks)


@scenario(verdicts=("inconclusive",), top=None)
def too_short(callbacks: Callbacks) -> None:
    """Training ends within the warm-up."""
    mlp().fit(batches(15).map(slept(6.0)), verbose=0, shuffle=False, callbacks=callbacks)
