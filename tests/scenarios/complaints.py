"""What people complain about, as programs, each with a twin that differs in one thing.

The twin lacks what is complained about. It may wait elsewhere, as its program does on purpose, and
then that is its verdict.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch_stand_in
from bottlenecks import (
    MEASURED,
    Callbacks,
    Pause,
    StepTimes,
    batches,
    layers,
    measured,
    mlp,
    paused_step_ms,
    usual_step_ms,
)

from keras_perf.analyse.start_up_shares import start_up_time
from keras_perf.observation.warmup_and_intervals import WARMUP_STEPS
from keras_perf.observers.sensors.host import HostReader
from keras_perf.records.metrics.host_metrics import PROCESS_MEMORY
from keras_perf.report.diagnosis import Diagnosis


@dataclass(frozen=True)
class Complaint:
    """One program and its twin.

    Attributes:
        train: runs it; healthy, if it is told so.
        says: words of the report on it.
        kind: those of them that any sentence of the kind has, and none on the twin.
        twin: verdicts that are right of the twin.
        advice: the id that is advised, and not to the twin; None where there is only a note.
        never: further ids that would be wrong for the twin.
        verdicts: those that are right; () where it says nothing of the steps.
        size: what the report has found, in the unit of `MEASURED`; None where it has no size.
        gain: how many times as fast the advice makes it, at least and at most, from what the
            program has measured; None where that is not known.
        needs_cores: the advice would buy nothing, and is not given, without a spare core.
        patches: name → value while it trains and is read: thresholds of seconds, most of all.
        traced: a trace of eight steps is taken.
        long: it takes too long for `make test`.
    """

    name: str
    train: Callable[..., None]
    says: str
    kind: str
    twin: tuple[str, ...]
    advice: str | None = None
    never: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = ()
    size: Callable[[Diagnosis], float] | None = None
    gain: Callable[[], tuple[float, float]] | None = None
    needs_cores: bool = False
    patches: Mapping[str, float] = field(default_factory=dict)
    traced: bool = False
    long: bool = False

    def __post_init__(self) -> None:
        """What is looked for in vain would be missing of any twin."""
        assert self.kind in self.says
        assert self.twin


FAST = ("compute-bound", "dispatch-bound", "inconclusive")
"""Verdicts on a small model that waits for nothing; what an execution costs was not tried."""

COMPLAINTS: list[Complaint] = []


def complaint(**expected: Any) -> Callable[[Callable[..., None]], None]:
    """Adds the function as a complaint of its name."""

    def add(train: Callable[..., None]) -> None:
        COMPLAINTS.append(Complaint(train.__name__, train, **expected))

    return add


def long_ms() -> float:
    """A wait that outlasts any machine's steps, and those that come after such a wait."""
    return max(6.0, 6.0 * usual_step_ms(), 3.0 * paused_step_ms())


def slowest_stage_ms(found: Diagnosis) -> float:
    """For a batch; how much of it is waited for depends on what the step takes beside it."""
    return max(stage.cost_ms for stage in found.summary.facts.input.stages)


# -- memory and start-up -----------------------------------------------------------------


@contextmanager
def memory_is_read() -> Iterator[Event]:
    """Set each time that this process's memory was read, for `until_read`."""
    was_read, read = Event(), HostReader.read

    def noting(reader: HostReader) -> dict[str, float]:
        values = read(reader)
        if PROCESS_MEMORY in values:
            was_read.set()
        return values

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HostReader, "read", noting)
        yield was_read


def until_read(was_read: Event, times: int = 1) -> None:
    """Waits until it was read so many times more, however late the reading thread is."""
    for _ in range(times):
        was_read.clear()
        assert was_read.wait(60)


class Keeps(keras.callbacks.Callback):
    """Keeps half a MiB of each step, or of the newest one only; a step lasts until it is seen."""

    def __init__(self, most: int | None, was_read: Event) -> None:
        super().__init__()
        self.kept: deque[Any] = deque(maxlen=most)
        self.was_read = was_read

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.kept.append(np.ones(1 << 17, "float32"))
        until_read(self.was_read)
        MEASURED.append(0.5)


@complaint(
    says="The memory of this process grows and does not level out",
    kind="memory of this process",
    # The callback waits in the twin too.
    twin=("callback-bound", *FAST),
    never=("parallel-map", "cache", "stable-shapes"),
    size=lambda found: found.summary.growth[PROCESS_MEMORY].mib_per_step,
    # Half a minute of points in a few seconds.
    patches={
        "keras_perf.observation.warmup_and_intervals.INTERVAL_S": 0.01,
        "keras_perf.observers.sensors.host.EVERY_S": 0.01,
    },
)
def memory_that_grows(callbacks: Callbacks, *, healthy: bool) -> None:
    """A callback keeps an array of every step."""
    with memory_is_read() as was_read:
        watched = [*callbacks, Keeps(1 if healthy else None, was_read)]
        mlp().fit(batches(300), verbose=0, shuffle=False, callbacks=watched)


class FirstSteps(Pause):
    """Pauses after each step, and measures the first one of the epochs after the first."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.begin = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.epoch and not batch:
            MEASURED.append(1e3 * (time.perf_counter() - self.begin))
        super().on_train_batch_end(batch, logs)


BUFFER, EXAMPLES, ROWS = 200, 240, 4


def filling_ms() -> float:
    """A wait for each element that makes filling the buffer much of a training on any machine.

    Beside it the training traces, and computes its steps after pauses.
    """
    begin = time.perf_counter()
    mlp().fit(batches(1), verbose=0, shuffle=False)
    beside_ms = 1e3 * (time.perf_counter() - begin) + 2 * EXAMPLES / ROWS * paused_step_ms()
    return max(2.5, 0.8 * beside_ms / BUFFER)


@complaint(
    says="fills its buffer",
    kind="its buffer",
    # A callback waits for longer than the slow map does.
    twin=("callback-bound", "input-bound", "inconclusive"),
    advice="cheaper-shuffle",
    verdicts=("callback-bound", "input-bound"),
    size=lambda found: 1e3 * (start_up_time(found.summary).fill_s or 0.0),
    patches={"keras_perf.advise.notes.start_up.LONG_S": 0.4},
)
def a_large_buffer_before_the_first_step(callbacks: Callbacks, *, healthy: bool) -> None:
    """A shuffle asks a slow map for many elements before it hands one on, in each epoch."""
    ms = filling_ms()

    def arrived(x: np.ndarray) -> np.ndarray:
        time.sleep(ms / 1e3)
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(arrived, [x], x.dtype), x.shape), y

    data = batches(EXAMPLES, rows=1).unbatch().map(mapped)
    data = data.shuffle(2 if healthy else BUFFER).batch(ROWS)
    # For longer than what a step's elements take.
    callbacks = [*callbacks, FirstSteps(1.2 * ROWS * ms)]
    mlp().fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)


# -- the input ---------------------------------------------------------------------------


@complaint(
    says="DataLoader",
    kind="DataLoader",
    twin=FAST,
    advice="parallel-input",
    needs_cores=True,
    never=("parallel-map", "cache", "interleave"),
    verdicts=("input-bound",),
    size=slowest_stage_ms,
)
def a_data_loader_without_workers(callbacks: Callbacks, *, healthy: bool) -> None:
    """Batches of a `DataLoader` are made one after the other; the twin's are there."""
    ms = long_ms()
    with torch_stand_in.installed():
        loader = torch_stand_in.DataLoader(80, 0.0 if healthy else ms, num_workers=0)
        mlp().fit(loader, verbose=0, shuffle=False, callbacks=callbacks)


@complaint(
    says="a Grain dataset that one thread of Python runs",
    kind="Grain dataset",
    twin=FAST,
    advice="parallel-input",
    needs_cores=True,
    never=("parallel-map", "cache", "interleave"),
    verdicts=("input-bound",),
    size=slowest_stage_ms,
)
def a_grain_dataset_that_one_thread_reads(callbacks: Callbacks, *, healthy: bool) -> None:
    """A map of Grain waits for each batch; the twin's does not."""
    grain = pytest.importorskip("grain")
    ms = 0.0 if healthy else long_ms()

    def prepared(batch: Any) -> Any:
        with measured():
            time.sleep(ms / 1e3)
        return batch

    given = list(batches(80).as_numpy_iterator())
    options = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
    dataset = grain.MapDataset.source(given).map(prepared).to_iter_dataset(options)
    mlp().fit(dataset, verbose=0, shuffle=False, callbacks=callbacks)


@complaint(
    says="The files are not on a local disk (nfs4), and reading them sets the pace",
    kind="local disk",
    # It waits as long, only for another reason.
    twin=("input-bound",),
    verdicts=("input-bound",),
    size=slowest_stage_ms,
)
def files_on_a_share(callbacks: Callbacks, *, healthy: bool) -> None:
    """Each batch is a file of a network share; the twin's lie on a disk that is as slow."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))
        system = "ext4" if healthy else "nfs4"
        (folder / "mounts").write_text(f"server:/x {folder} {system} rw 0 0\n")
        patched = held.enter_context(pytest.MonkeyPatch.context())
        module = "keras_perf.observation.facts.input.file_systems"
        patched.setattr(f"{module}.MOUNTS", folder / "mounts")
        names = [str(folder / f"{place}.raw") for place in range(80)]
        ms = long_ms()
        for name in names:
            Path(name).write_bytes(bytes(64))

        def arrived(content: bytes) -> bytes:
            with measured():
                time.sleep(ms / 1e3)
            return content

        def read(name: Any) -> Any:
            content = tf.numpy_function(arrived, [tf.io.read_file(name)], tf.string)
            numbers = tf.io.decode_raw(tf.ensure_shape(content, ()), tf.uint8)
            x = tf.cast(tf.reshape(numbers, (8, 8)), tf.float32)
            return x, x[:, :1]

        data = tf.data.Dataset.from_tensor_slices(names).map(read).prefetch(2)
        mlp().fit(data, verbose=0, shuffle=False, callbacks=callbacks)


# -- the step ----------------------------------------------------------------------------


class Prints(keras.layers.Layer):
    """Prints a number of every batch, into a file."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = file

    def call(self, x: Any) -> Any:
        tf.print(tf.reduce_sum(x), output_stream=f"file://{self.file}")
        return x


@complaint(
    says="The train step prints (tf.print), in every step",
    kind="tf.print",
    twin=FAST,
    # What a print costs is not measured: it is in the step's computation.
    verdicts=FAST,
)
def a_print_in_the_step(callbacks: Callbacks, *, healthy: bool) -> None:
    """A layer of the model prints."""
    with tempfile.TemporaryDirectory() as folder:
        prints = [] if healthy else [Prints(f"{folder}/printed")]
        model = keras.Sequential([layers.Input((8,)), *prints, layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(batches(60), verbose=0, shuffle=False, callbacks=callbacks)


class Slower(StepTimes):
    """By how much steps after the warm-up are slower than the quickest, on average."""

    def on_train_end(self, logs: Any = None) -> None:
        MEASURED.append(float(np.mean(self.took_ms[WARMUP_STEPS:])) - min(self.took_ms))


@complaint(
    says="XLA compiles for each of its lengths",
    kind="XLA compiles",
    twin=FAST,
    advice="stable-shapes",
    verdicts=("compile-bound",),
    size=lambda found: found.summary.parts["compile"],
    traced=True,
    long=True,
)
def sixty_lengths_in_120_steps(callbacks: Callbacks, *, healthy: bool) -> None:
    """Nearly every step compiles, so that no step tells what a usual one takes."""
    keras.utils.set_random_seed(1)
    model = keras.Sequential([layers.Input((None, 4)), layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=True)
    lengths = np.random.default_rng(0).permutation(np.tile(np.arange(8, 68), 2))

    def ones(length: Any) -> Any:
        rows = 68 if healthy else length
        return tf.ones((8, rows, 4)), tf.ones((8, rows, 1))

    data = tf.data.Dataset.from_tensor_slices(lengths).map(ones)
    model.fit(data, verbose=0, shuffle=False, callbacks=[Slower(), *callbacks])
