"""Complaints about what lies at the beginning and between epochs, added to the others."""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable
from statistics import median
from threading import Event
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf
from bottlenecks import MEASURED, Callbacks, batches, layers, measured, mlp, unbuffered
from complaints import COMPLAINTS, FAST, complaint, long_ms, memory_is_read, until_read

from keras_perf.analyse.filled_cache import filled_cache
from keras_perf.analyse.start_up_shares import start_up_time
from keras_perf.observation.warmup_and_intervals import WARMUP_STEPS
from keras_perf.records.metrics.host_metrics import PROCESS_MEMORY
from keras_perf.report.diagnosis import Diagnosis

__all__ = ["COMPLAINTS"]

START_UP_S = "keras_perf.advise.notes.start_up.LONG_S"
"""Start-up is told from so many seconds."""

INTERVAL_S = "keras_perf.observation.warmup_and_intervals.INTERVAL_S"


SPENT_S: list[tuple[float, float]] = []
"""Of each epoch, validation and start-up among it: how long it took, and what of that is complained
about."""


class Epochs(keras.callbacks.Callback):
    """Times each epoch with its validation, and sums what `MEASURED` gets meanwhile."""

    def on_train_begin(self, logs: Any = None) -> None:
        SPENT_S.clear()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.begin, self.known = time.perf_counter(), len(MEASURED)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        took_s = time.perf_counter() - self.begin
        SPENT_S.append((took_s, sum(MEASURED[self.known :]) / 1e3))


def faster_without(share: float) -> float:
    """So many times as fast, without this share of what is complained about."""
    took_s, complained_s = map(sum, zip(*SPENT_S, strict=True))
    return took_s / (took_s - share * complained_s)


def waits_ms(found: Diagnosis) -> float:
    """Of a batch of the validation."""
    return found.summary.facts.inference["validation"].per_step_ms("input_wait") or 0.0


@complaint(
    says="and waits for its own input for",
    kind="waits for its own input",
    twin=FAST,
    advice="faster-validation",
    never=("parallel-map", "cache"),
    size=waits_ms,
    # A cache that the first of three fills, and no wait at all.
    gain=lambda: (faster_without(2 / 3), faster_without(1.0)),
)
def slow_validation_input(callbacks: Callbacks, *, healthy: bool) -> None:
    """The validation's own map is slow, and training's input is not."""
    ms, validation = long_ms(), batches(40)

    def arrived(x: np.ndarray) -> np.ndarray:
        with measured():
            time.sleep(ms / 1e3)
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(arrived, [x], x.dtype), x.shape), y

    mlp().fit(
        batches(60),
        epochs=3,
        validation_data=validation if healthy else unbuffered(validation.map(mapped)),
        verbose=0,
        shuffle=False,
        callbacks=[Epochs(), *callbacks],
    )


class Predicts(keras.callbacks.Callback):
    """Asks the model eight times, or once, at each epoch's end."""

    def __init__(self, *, healthy: bool) -> None:
        super().__init__()
        self.healthy = healthy

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        x = np.zeros((8, 8), "float32")
        if self.healthy:
            self.model(x, training=False)
            return
        for row in range(8):
            begin = time.perf_counter()
            self.model.predict(x[row : row + 1], verbose=0)
            if epoch or row:
                MEASURED.append(1e3 * (time.perf_counter() - begin))


@complaint(
    says="called model.predict 24 times, with 1 example a call",
    kind="called model.predict",
    # Beside 60 small steps it takes time to call the model operation by operation, too.
    twin=("callback-bound", *FAST),
    advice="call-the-model",
    verdicts=("callback-bound",),
    size=lambda found: found.summary.facts.predicts["Predicts.on_epoch_end"].call_ms or 0.0,
    # Most of a call is no work of the model's.
    gain=lambda: (faster_without(1 / 2), faster_without(1.0)),
)
def predict_for_one_example_after_the_other(callbacks: Callbacks, *, healthy: bool) -> None:
    """A callback predicts in a loop, where the twin calls the model once."""
    callbacks = [*callbacks, Predicts(healthy=healthy), Epochs()]
    mlp().fit(batches(60), epochs=3, verbose=0, shuffle=False, callbacks=callbacks)


class Evaluates(keras.callbacks.Callback):
    """Evaluates at each epoch's end."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        with measured():
            self.model.evaluate(batches(40), verbose=0)


def evaluating_ms(found: Diagnosis) -> float:
    """Of one call."""
    calls = found.summary.facts.evaluates["Evaluates.on_epoch_end"]
    return 1e3 * calls.spent_s / calls.calls


@complaint(
    says="called model.evaluate 3 times",
    kind="called model.evaluate",
    twin=FAST,
    never=("call-the-model",),
    verdicts=("callback-bound",),
    size=evaluating_ms,
)
def evaluate_in_a_callback(callbacks: Callbacks, *, healthy: bool) -> None:
    """A callback evaluates, which `fit` does for the twin."""
    hooks = [] if healthy else [Evaluates()]
    mlp().fit(
        batches(60),
        epochs=3,
        validation_data=batches(40) if healthy else None,
        verbose=0,
        shuffle=False,
        callbacks=[*hooks, *callbacks],
    )


class Boundaries(keras.callbacks.Callback):
    """Times what lies between an epoch's last batch and the next one's first, and all of it.

    `CPU_S` is what the training thread computes there, which others do not make longer.
    """

    ALL_S: ClassVar[list[float]] = []
    ITERATORS_S: ClassVar[list[float]] = []
    CPU_S: ClassVar[list[float]] = []

    def on_train_begin(self, logs: Any = None) -> None:
        for times in (MEASURED, self.ITERATORS_S, self.CPU_S):
            times.clear()
        self.ended, self.begin = 0.0, time.perf_counter()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.begun = time.perf_counter()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch == 0 and self.ended:
            now = time.perf_counter()
            self.ITERATORS_S.append(now - self.begun)
            self.CPU_S.append(time.thread_time() - self.ended_cpu)
            MEASURED.append(1e3 * (now - self.ended))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ended, self.ended_cpu = time.perf_counter(), time.thread_time()

    def on_train_end(self, logs: Any = None) -> None:
        self.ALL_S[:] = [time.perf_counter() - self.begin]


def with_one_iterator() -> tuple[float, float]:
    """So many times as fast without the others, and without the waits for their first batches,
    which are no longer than what else lies between two epochs."""
    (all_s,), iterators_s = Boundaries.ALL_S, sum(Boundaries.ITERATORS_S)
    return all_s / (all_s - iterators_s), all_s / (all_s - sum(MEASURED) / 1e3)


def between_epochs_ms(found: Diagnosis) -> float:
    """Keras's own work and a new iterator."""
    evidence = [each.evidence for each in found.recommendations]
    each_ms = sum(each.get("rest_ms", 0.0) + each.get("iterator_ms", 0.0) for each in evidence)
    return 3 * each_ms


@complaint(
    says="Each epoch of 3 steps begins with the making of a new iterator",
    kind="the making of a new iterator",
    twin=("input-bound", *FAST),
    advice="one-iterator",
    never=("longer-epochs",),
    size=between_epochs_ms,
    gain=with_one_iterator,
)
def epochs_of_three_steps(callbacks: Callbacks, *, healthy: bool) -> None:
    """Many short epochs; the twin has few long ones of the same batches.

    To make an iterator of two maps takes many times as long as what our callbacks write.
    """
    steps, epochs, data = 3, 80, batches(3)
    for _ in range(2):
        data = data.map(lambda x, y: (1.5 * x, y))
    arguments: dict[str, Any] = {"epochs": epochs}
    if healthy:
        data = data.repeat().prefetch(tf.data.AUTOTUNE)
        arguments = {"epochs": 2, "steps_per_epoch": steps * epochs // 2}
    cpu_s = []
    for hooks in ([], callbacks):
        mlp().fit(data, verbose=0, shuffle=False, callbacks=[Boundaries(), *hooks], **arguments)
        cpu_s.append(median(Boundaries.CPU_S))
    without_s, with_ours_s = cpu_s
    writing_s = with_ours_s - without_s
    MEASURED[:] = [each_ms - 1e3 * writing_s for each_ms in MEASURED]
    Boundaries.ALL_S[0] -= len(MEASURED) * writing_s


def slow_map(waited: list[float]) -> Callable[[Any, Any], Any]:
    """A map that waits longer than any machine's steps take, and adds its milliseconds."""
    ms = long_ms()

    def arrived(x: np.ndarray) -> np.ndarray:
        begin = time.perf_counter()
        time.sleep(ms / 1e3)
        waited.append(1e3 * (time.perf_counter() - begin))
        return x

    def mapped(x: Any, y: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(arrived, [x], x.dtype), x.shape), y

    return mapped


@complaint(
    says="Filling the cache() in the first pass takes",
    kind="Filling the cache()",
    twin=FAST,
    never=("cache", "parallel-map"),
    size=lambda found: 1e3 * start_up_time(found.summary).parts.get("later_cache", 0.0),
    patches={START_UP_S: 0.4, INTERVAL_S: 0.02},
)
def a_cache_that_the_first_epoch_fills(callbacks: Callbacks, *, healthy: bool) -> None:
    """A slow map is cached, which the twin lacks."""
    waited = list[float]()
    mapped = slow_map(waited)
    # Nothing is prepared while a step computes, so all of the wait is seen.
    data = batches(100)
    data = unbuffered((data if healthy else data.map(mapped)).cache())
    mlp().fit(data, epochs=4, verbose=0, shuffle=False, callbacks=callbacks)
    # Those of the warm-up are told apart from the later ones.
    MEASURED.append(sum(waited[WARMUP_STEPS:]))


def filling_ms(found: Diagnosis) -> float:
    """The first pass beyond a later one."""
    filled = filled_cache(found.summary)
    return 1e3 * filled.longer_s if filled is not None else 0.0


@complaint(
    says="It is the first pass that waits for its input",
    kind="It is the first pass",
    twin=("input-bound",),
    verdicts=("input-bound",),
    size=filling_ms,
    patches={INTERVAL_S: 0.02},
)
def two_epochs_of_which_the_first_fills_a_cache(callbacks: Callbacks, *, healthy: bool) -> None:
    """A slow map is waited for in the first epoch only; the twin has no cache."""
    waited = list[float]()
    mapped = slow_map(waited)
    data = batches(100).map(mapped)
    data = unbuffered(data if healthy else data.cache())
    mlp().fit(data, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
    MEASURED.append(sum(waited[WARMUP_STEPS:100]))


class FirstStep(keras.callbacks.Callback):
    """Milliseconds of the first step, whose graph and compiling are in it."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.begin = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if not MEASURED:
            MEASURED.append(1e3 * (time.perf_counter() - self.begin))


def first_step_ms(found: Diagnosis) -> float:
    """The parts of it."""
    parts = start_up_time(found.summary).parts
    return 1e3 * sum(parts[part] for part in ("tracing", "first_batch", "first_computing"))


@complaint(
    says="XLA compiled, and the first step computed, in",
    kind="XLA compiled",
    twin=FAST,
    size=first_step_ms,
    patches={START_UP_S: 0.05},
)
def xla_that_compiles_before_it_trains(callbacks: Callbacks, *, healthy: bool) -> None:
    """Many layers, which XLA compiles before the first step is done, and the twin traces only."""
    keras.utils.set_random_seed(1)
    hidden = [layers.Dense(16, "relu") for _ in range(24)]
    model = keras.Sequential([layers.Input((8,)), *hidden, layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=not healthy)
    model.fit(batches(60), verbose=0, shuffle=False, callbacks=[FirstStep(), *callbacks])


def where_epochs_end_mib(found: Diagnosis) -> float:
    """What memory grows by there, for a step."""
    growth = found.summary.growth[PROCESS_MEMORY]
    return growth.mib_per_step * (growth.between_epochs or 0.0)


class KeepsAtEnds(keras.callbacks.Callback):
    """Keeps 16 MiB of each epoch, or of the newest one only.

    A step lasts until memory was read, and an epoch ends once it was several times.
    """

    STEPS, READS, MIB = 16, 10, 16

    def __init__(self, most: int | None, was_read: Event) -> None:
        super().__init__()
        self.kept: deque[Any] = deque(maxlen=most)
        self.was_read = was_read

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        until_read(self.was_read)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.kept.append(np.ones(self.MIB << 18, "float32"))
        until_read(self.was_read, self.READS)
        MEASURED.append(self.MIB / self.STEPS)


@complaint(
    says="The memory of this process grows and does not level out",
    kind="memory of this process",
    # The callback waits in the twin too.
    twin=("callback-bound", *FAST),
    never=("parallel-map", "cache", "stable-shapes"),
    size=where_epochs_end_mib,
    long=True,
    patches={INTERVAL_S: 0.01, "keras_perf.observers.sensors.host.EVERY_S": 0.01},
)
def memory_that_grows_from_epoch_to_epoch(callbacks: Callbacks, *, healthy: bool) -> None:
    """A callback keeps an array of every epoch."""
    # What an earlier program has kept goes now, and not while this one trains.
    gc.collect()
    data = batches(KeepsAtEnds.STEPS)
    with memory_is_read() as was_read:
        watched = [*callbacks, KeepsAtEnds(1 if healthy else None, was_read)]
        mlp().fit(data, epochs=16, verbose=0, shuffle=False, callbacks=watched)
