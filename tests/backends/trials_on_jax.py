"""Trials on Keras's JAX backend; prints as JSON what was found: for a Python of its own.

Arguments: a folder for runs, and "arrays", where TensorFlow is not installed, or "datasets".
"""

import json
import sys

import keras
import numpy as np
from batch_models import Wide

import keras_perf as kp

FEATURES, ROWS = 8, 16
FAILS = []
HELD = []
"""Training states that stay at models after a trial."""


class Fails(keras.Sequential):
    def train_step(self, state, data):
        if FAILS:
            raise ZeroDivisionError
        return super().train_step(state, data)


class Unpacks(keras.Sequential):
    """As in Keras's guide to own steps on JAX."""

    def train_step(self, state, data):
        x, y = data
        return super().train_step(state, (x, y))


def anew():
    """Nothing random is left from before: Keras 3.12 seeds its own generator only once."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)


def model(last=None, kind=keras.Sequential, optimizer="adam", **how):
    anew()
    inside = [keras.layers.Dense(8), keras.layers.BatchNormalization(), keras.layers.Dropout(0.5)]
    made = kind([keras.Input((FEATURES,)), *inside, last or keras.layers.Dense(1)])
    made.compile(optimizer, "mse", metrics=["mae"], **how)
    return made


def in_half_precision():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        return model()
    finally:
        keras.config.set_dtype_policy("float32")


WAYS = {
    "as it is": model,
    "four at once": lambda: model(steps_per_execution=4),
    "eager": lambda: model(run_eagerly=True),
    "half precision": in_half_precision,
    "unpacks its data": lambda: model(kind=Unpacks),
    "a step raises": lambda: model(kind=Fails),
}


def arrays(rows=4 * ROWS, features=FEATURES):
    x = np.random.default_rng(0).normal(size=(rows, features)).astype("float32")
    return x, x[:, :1]


def dataset(size=ROWS):
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(arrays()).batch(size)


def left_by(made):
    """Weights, seeds, figures of metrics, the optimizer's state, and what is drawn next."""
    metrics = [v for metric in made.metrics for v in metric.variables]
    variables = [np.asarray(v) for v in (*made.variables, *made.optimizer.variables, *metrics)]
    drawn = np.random.random(), keras.random.uniform((3,))
    return [np.asarray(each).tobytes() for each in (*variables, *drawn)]


def trained(made, trial=None):
    """What is left of two trainings, with a trial between them; whether it raised."""
    made, raised = made(), False
    made.fit(*arrays(), batch_size=ROWS, verbose=0)
    if trial is not None:
        FAILS[:] = [True] * isinstance(made, Fails)
        try:
            trial(made)
        except ZeroDivisionError:
            raised = True
        FAILS.clear()
    HELD.append(getattr(made, "_jax_state", "under another name"))
    made.fit(*arrays(), batch_size=ROWS, verbose=0)
    return left_by(made), raised


def all_ways(trial, but=""):
    """Way to train → whether a trial has left no trace, and whether it raised."""
    found = {}
    for name, made in WAYS.items():
        if name != but:
            (without, _), (after, raised) = trained(made), trained(made, trial)
            found[name] = [without == after, raised]
    return found


def wide():
    """An example takes 64 KiB in a batch alone."""
    anew()
    made = keras.Sequential([keras.Input((2**14,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


def of_arrays(folder):
    swept, data = wide(), arrays(features=2**14)
    before = [np.asarray(v).tobytes() for v in swept.variables]
    how = {"seconds": 0.2, "memory_limit_mib": 500, "log_dir": folder}
    sweep = kp.sweep_batch_size(swept, data, [64, 512, 1024, 2048, 2**16], **how)
    predicts = kp.sweep_batch_size(model(), arrays(), [ROWS], seconds=0.2, predict=True)
    try:
        kp.sweep_batch_size(swept, object())
    except TypeError as error:
        refused = str(error)
    try:
        kp.try_advice(model(), arrays())
    except ImportError as error:
        needed = str(error)
    plain = model(optimizer="sgd")
    found = kp.find_learning_rate(plain, arrays(2048), steps=120)
    return {
        "swept": sweep.to_frame().to_dict("list"),
        "predicted": sweep.predicted,
        "same": [np.asarray(v).tobytes() for v in swept.variables] == before,
        "diagnosis": str(kp.diagnose(folder)),
        "present": predicts.present,
        "calls": predicts.to_frame().to_dict("list"),
        "refused": refused,
        "needed": needed,
        "suggestion": found.suggestion,
        "losses": found.to_frame()["loss"].tolist(),
        "rate": float(plain.optimizer.learning_rate.value),
        "ramped": all_ways(lambda made: kp.find_learning_rate(made, arrays(), steps=50), "eager"),
        "held": [each for each in HELD if each is not None] != [],
    }


def of_datasets(folder):
    heavy = model(last=Wide())
    tuned = kp.tune_input(dataset(4 * ROWS).cache().repeat(64), model=heavy, budget_s=60)
    swept = kp.sweep_batch_size(model(), dataset(), [ROWS], seconds=0.2)
    rates = [kp.find_learning_rate(model(), dataset(), steps=50).to_frame() for _ in range(2)]
    return {
        "tuned": str(tuned),
        "swept": swept.to_frame().to_dict("list"),
        "alike": rates[0].equals(rates[1]),
        "timed": all_ways(lambda made: kp.tune_input(dataset(ROWS // 2), model=made, budget_s=0.2)),
        "held": [each for each in HELD if each is not None] != [],
    }


if __name__ == "__main__":
    of = {"arrays": of_arrays, "datasets": of_datasets}[sys.argv[2]]
    print(json.dumps(of(sys.argv[1])))
