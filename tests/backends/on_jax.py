"""Trains on Keras's JAX backend, and prints as JSON what was found: for a Python of its own.

All but the last two trainings run as where TensorFlow is not installed.
"""

import gc
import json
import logging
import math
import random
import sys
import threading
import time
from unittest import mock

import jax
import keras
import numpy as np

import keras_perf as kp
from keras_perf.backends import jax_compiling

LONG_MS = 30.0
"""A wait; longer where steps that follow a pause are long."""
SLEPT = []
AWAKE = False
FOUND = {}
WITHOUT = {}
said = []


class Kept(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())


logging.getLogger("keras_perf").addHandler(Kept())


def sleep(ms):
    if AWAKE:
        return
    begin = time.perf_counter()
    time.sleep(ms / 1e3)
    SLEPT.append(1e3 * (time.perf_counter() - begin))


def anew():
    """Nothing random is left from before: Keras 3.12 seeds its own generator only once."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)


def mlp(features=8, width=16, layers=1, at_once=1, kind=keras.Sequential, **how):
    anew()
    dense = [keras.layers.Dense(width, activation="relu") for _ in range(layers)]
    model = kind(
        [keras.Input((features,)), *dense, keras.layers.Dropout(0.2), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse", steps_per_execution=at_once, **how)
    return model


def paused_step_ms():
    """What a step takes here where each comes after a pause."""
    took_ms = []

    class Clock(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            time.sleep(0.02)
            self.begin = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            float(logs["loss"])
            took_ms.append(1e3 * (time.perf_counter() - self.begin))

    mlp().fit(*arrays(20), batch_size=8, verbose=0, callbacks=[Clock()])
    return float(np.median(took_ms))


def in_half_precision():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        return mlp()
    finally:
        keras.config.set_dtype_policy("float32")


class OwnStep(keras.Sequential):
    def train_step(self, state, data):
        logs, state = super().train_step(state, data)
        return {**logs, "twice": 2 * logs["loss"]}, state


def arrays(batches, rows=8, features=8):
    x = np.random.default_rng(0).normal(size=(batches * rows, features)).astype("float32")
    return x, x[:, :1]


def batches_of(count, ms=0.0, rows=8):
    x, y = arrays(count, rows)
    for at in range(0, len(x), rows):
        if ms:
            sleep(ms)
        yield x[at : at + rows], y[at : at + rows]


class Sleeps(keras.callbacks.Callback):
    pass


class AtBegin(Sleeps):
    def on_train_batch_begin(self, batch, logs=None):
        sleep(LONG_MS)


class AtEnd(Sleeps):
    def on_train_batch_end(self, batch, logs=None):
        sleep(LONG_MS)


class Late(Sleeps):
    """Keras may call it in a thread of its own, where it takes none of training's time."""

    async_safe = True

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.001)


class Calls(keras.callbacks.Callback):
    """Evaluates before each epoch, and predicts behind it."""

    def on_epoch_begin(self, epoch, logs=None):
        self.model.evaluate(*arrays(4), batch_size=8, verbose=0)

    def on_epoch_end(self, epoch, logs=None):
        self.model.predict(arrays(8)[0], batch_size=2, verbose=0)


class Touches(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        assert self.model.built


class Fails(Late):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 20:
            raise ValueError("on purpose")


class Slow(keras.utils.PyDataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        sleep(LONG_MS)
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


class Computes(keras.utils.PyDataset):
    """Each batch takes 20 ms of CPU time, however fast the machine is."""

    def __len__(self):
        return 100

    def __getitem__(self, index):
        begin = time.thread_time()
        while not AWAKE and time.thread_time() < begin + 0.02:
            sum(range(500))
        return np.ones((8, 8), "float32"), np.ones((8, 1), "float32")


def lengths():
    # A step computes for so long that, where nothing compiles, its batch costs next to nothing.
    for batch in range(40):
        rows, length = 128, 32 + (batch // 10 if batch % 10 == 0 else 0)
        yield np.ones((rows, length, 3), "float32"), np.ones((rows, 1), "float32")


def convolutions():
    anew()
    model = keras.Sequential(
        [
            keras.Input((None, 3)),
            keras.layers.Conv1D(64, 3),
            keras.layers.Conv1D(64, 3),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    return model


def left_by(model, history):
    """A training's figures, weights, seeds, the optimizer's state and what is drawn next."""
    variables = (*model.variables, *model.optimizer.variables)
    drawn = keras.random.uniform((3,)), np.random.random(), random.random()
    figures = [history.epoch, *(history.history[name] for name in sorted(history.history))]
    return [np.asarray(each).tobytes() for each in (*figures, *variables, *drawn)]


def compare(name, model, data, callbacks=(), alike=None, ours=None, **how):
    """Trains with and without, which sleeps nowhere, on the same data."""
    global AWAKE
    folder = f"{sys.argv[1]}/{name}"
    if (alike or name) not in WITHOUT:
        without, AWAKE = model(), True
        ran = without.fit(*data(), verbose=0, callbacks=[kind() for kind in callbacks], **how)
        WITHOUT[alike or name] = left_by(without, ran)
    AWAKE = False
    SLEPT.clear()
    # What earlier trainings left is no longer searched: each collection would take seconds.
    gc.collect()
    gc.freeze()
    watched = model()
    ours = kp.perf_callbacks(folder, **{"profiler": False, "summary": False} | (ours or {}))
    ran = watched.fit(*data(), verbose=0, callbacks=[*ours, *(kind() for kind in callbacks)], **how)
    same = left_by(watched, ran) == WITHOUT[alike or name]
    found = kp.diagnose(folder)
    FOUND[name] = {
        "same": same,
        "verdict": found.verdict,
        "parts": dict(found.breakdown),
        "advice": [each.id for each in found.recommendations],
        "owners": list(found.summary.owners),
        "sensors": dict(found.summary.sensors),
        "injected": sum(SLEPT) / len(SLEPT) if SLEPT else 0.0,
        "text": str(found),
        "facts": found.summary.facts.to_json(),
        "left": sorted(
            {"state_sync", "jax_state_sync", "predict", "evaluate"} & vars(watched).keys()
        ),
        "function": watched.train_function.__module__,
    }
    return folder


def raises(batches=30):
    yield from batches_of(batches)
    raise RuntimeError("on purpose")


def evaluation_given_back(model):
    """Of one that raised, by the garbage collector while the thread itself holds the lock."""
    try:
        model.evaluate(raises(), callbacks=[kp.StepGapDetector(f"{sys.argv[1]}/broken")], verbose=0)
    except RuntimeError as error:
        kept = error
    with jax_compiling._changing:
        kept.__traceback__ = None
        gc.collect()
    return model.test_function.__module__


def pipeline():
    import tensorflow as tf

    def slow(x, y):
        return tf.numpy_function(lambda x: (sleep(LONG_MS), x)[1], [x], tf.float32), y

    data = tf.data.Dataset.from_tensor_slices(arrays(40)).batch(8).map(slow)
    # The shape is lost in Python, and Keras builds models of a known one.
    return (data.map(lambda x, y: (tf.ensure_shape(x, (8, 8)), y)),)


WAYS = {
    "eager": lambda: mlp(run_eagerly=True),
    "not_compiled": lambda: mlp(jit_compile=False),
    "half_precision": in_half_precision,
    "own_step": lambda: mlp(kind=OwnStep),
}
"""Of training; each step runs in another way."""


def main():
    global LONG_MS
    LONG_MS = max(LONG_MS, 6 * paused_step_ms())
    compare("arrays", mlp, lambda: arrays(200), batch_size=8, epochs=2)
    compare("generator", mlp, lambda: (batches_of(40, LONG_MS),))
    compare("pydataset", mlp, lambda: (Slow(),))
    compare("computes", mlp, lambda: (Computes(),))
    compare("in_threads", mlp, lambda: (Computes(workers=2),), epochs=2)
    compare("begin", mlp, lambda: arrays(40), [AtBegin], batch_size=8)
    compare("end", mlp, lambda: arrays(40), [AtEnd], alike="begin", batch_size=8)
    compare("late", mlp, lambda: arrays(80), [Late], batch_size=8)
    compare("calls", mlp, lambda: arrays(80), [Calls], batch_size=8, epochs=3)
    tries = {"try_advice": True}
    compare("touches", mlp, lambda: arrays(80), [Touches], alike="late", ours=tries, batch_size=8)
    # All of this one is compiled, for that is timed: nothing of it is kept.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", math.inf)
    compare("lengths", convolutions, lambda: (lengths(),))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    compare("executions", lambda: mlp(at_once=4), lambda: arrays(150), batch_size=8)
    for name, model in WAYS.items():
        compare(name, model, lambda: arrays(12), batch_size=8)
    # On no machine of today is a step so short that entering it could matter.
    x, y = arrays(40, 512, 256)
    compare(
        "healthy",
        lambda: mlp(256, 512, 3),
        lambda: (x, y),
        batch_size=512,
        # The first validation compiles; of one other that somebody interrupts, nobody could tell.
        epochs=4,
        validation_data=(x[:512], y[:512]),
    )
    folder = compare(
        "captured",
        mlp,
        lambda: arrays(80),
        alike="late",
        ours={"profiler": {"active_steps": 5}},
        batch_size=8,
    )
    trace = kp.read_trace(folder)
    FOUND["captured"]["steps"] = [int(step) for step in trace.to_frame().step]
    FOUND["captured"]["step_ms"] = float(trace.to_frame().step_ms.mean())
    waiting = {"alike": "generator", "ours": {"profiler": {"active_steps": 5}}}
    trace = kp.read_trace(compare("waiting", mlp, lambda: (batches_of(40, LONG_MS),), **waiting))
    FOUND["waiting"]["waits"] = [float(ms) for ms in trace.to_frame().input_wait_ms]
    FOUND["waiting"]["steps_ms"] = [float(ms) for ms in trace.to_frame().step_ms]
    FOUND["waiting"]["traces"] = [str(path) for path in trace.paths]

    model = mlp()
    try:
        model.fit(raises(), verbose=0, callbacks=kp.perf_callbacks(f"{sys.argv[1]}/raises"))
    except RuntimeError as error:
        FOUND["raised"] = type(error).__name__
    try:
        ours = kp.perf_callbacks(f"{sys.argv[1]}/fails", summary=False)
        FOUND["closed_in"] = closed_in = []
        for each in ours:
            if isinstance(each, kp.StepGapDetector):
                each.executions_end = lambda: closed_in.append(threading.current_thread().name)
        model.fit(*arrays(100), batch_size=8, verbose=0, callbacks=[*ours, Fails()])
    except ValueError as error:
        FOUND["failed"] = str(error)
    ours = each = None
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "keras_perf-closing":
            thread.join()
    ending = kp.diagnose(f"{sys.argv[1]}/fails").summary.facts.ending
    FOUND["failed_ending"] = [ending.error, ending.message]
    try:
        ours = kp.StepGapDetector(f"{sys.argv[1]}/fails_validating", summary=False)
        model.fit(*arrays(4), batch_size=8, verbose=0, callbacks=[ours], validation_data=raises(2))
    except RuntimeError:
        ours = None
    ending = kp.diagnose(f"{sys.argv[1]}/fails_validating").summary.facts.ending
    FOUND["failed_validating"] = [ending.error, ending.message]
    FOUND["raised_function"] = model.train_function.__module__
    FOUND["given_back"] = evaluation_given_back(model)
    model.evaluate(
        *arrays(4), batch_size=8, verbose=0, callbacks=kp.perf_callbacks(f"{sys.argv[1]}/evaluated")
    )
    called = kp.diagnose(f"{sys.argv[1]}/evaluated").summary.facts.to_json()
    FOUND["evaluated"] = called["inference"]["evaluate"]
    for name, data, how in [
        ("whole", arrays(20), {"steps": 5, "batch_size": 8}),
        ("cut", arrays(6), {"steps": 5, "batch_size": 8}),
        ("unknown", (batches_of(9),), {}),
    ]:
        ours = kp.perf_callbacks(f"{sys.argv[1]}/{name}")
        mlp(at_once=4).evaluate(*data, verbose=0, callbacks=ours, **how)
        called = kp.diagnose(f"{sys.argv[1]}/{name}").summary.facts
        FOUND[name] = called.inference["evaluate"].steps
    for _ in range(2):
        ours = kp.perf_callbacks(f"{sys.argv[1]}/predicted", summary=False)
        model.predict(arrays(4)[0], batch_size=8, verbose=0, callbacks=ours)
    comparison = kp.compare(f"{sys.argv[1]}/generator", f"{sys.argv[1]}/arrays")
    FOUND["compared"] = float(comparison.speedup)
    del sys.modules["tensorflow"]
    compare("tf_data", mlp, pipeline)
    # So Keras fetches one batch ahead, as it does on all but CPUs.
    with mock.patch("jax.default_backend", return_value="gpu"):
        compare("ahead", mlp, pipeline)
    FOUND["said"] = said
    print(json.dumps(FOUND))


main()
