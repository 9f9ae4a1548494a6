"""One program for any backend of Keras; prints as JSON what its report holds.

On JAX also what is counted of functions that it has traced.
"""

import json
import math
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import keras_perf as kp

BATCH, STEPS = 16, 45


class Looks(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(self.seconds)


def model():
    keras.utils.set_random_seed(1)
    made = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            layers.Conv2D(6, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2D(4, 3),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(5),
        ]
    )
    made.compile("adam", "mse")
    return made


def halves(x, y):
    return x / 2.0, y


def with_a_slow_callback(watched, data):
    """What is said of a callback that takes several times as long as a step does here and now."""
    begin = time.perf_counter()
    watched.fit(data, verbose=0)
    step_s = (time.perf_counter() - begin) / STEPS
    folder = f"{sys.argv[1]}_slow"
    ours = kp.perf_callbacks(folder, profiler=False, gpu=False, summary=False)
    watched.fit(data, epochs=2, verbose=0, callbacks=[*ours, Looks(6 * step_s)])
    found = kp.diagnose(folder)
    return {"verdict": found.verdict, "first": found.recommendations[0].id}


def main():
    random = np.random.default_rng(0)
    x = random.normal(size=(BATCH * STEPS, 8, 8, 3)).astype("float32")
    y = random.normal(size=(BATCH * STEPS, 5)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, y)).map(halves).batch(BATCH).prefetch(2)
    ours = kp.perf_callbacks(sys.argv[1], profiler={"active_steps": 3}, summary=False)
    watched = model()
    watched.fit(
        data,
        epochs=2,
        verbose=0,
        callbacks=[*ours, Looks(0.002)],
        validation_data=(x[: 5 * BATCH], y[: 5 * BATCH]),
        validation_batch_size=BATCH,
    )
    found = kp.diagnose(sys.argv[1])
    parts = {part: math.isfinite(ms) for part, ms in found.breakdown.items()}
    told = {"facts": found.summary.facts.to_json(), "parts": parts, "text": str(found)}
    told["slow"] = with_a_slow_callback(watched, data)
    if keras.backend.backend() == "jax":
        from traced_on_jax import all_traced

        told["traced"] = all_traced()
    print(json.dumps(told))


main()
