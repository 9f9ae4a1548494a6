"""Counts what an execution on Keras's JAX backend costs, and prints it as JSON."""

import json
import sys
import threading
from collections import Counter
from pathlib import Path

import keras
import numpy as np

import keras_perf as kp
from keras_perf.observation import warmup_and_intervals

OURS = str(Path(kp.__file__).parent)
EXECUTIONS = 600


class Counts(keras.callbacks.Callback):
    """Counts calls of our functions in the second epoch, in all threads of the training."""

    def __init__(self):
        super().__init__()
        self.calls = Counter()
        self._counts = False

    def on_epoch_begin(self, epoch, logs=None):
        self._counts = epoch == 1

    def on_epoch_end(self, epoch, logs=None):
        self._counts = False

    def count(self, frame, event, argument):
        if self._counts and event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.calls[frame.f_code] += 1


def trained(log_dir):
    # Intervals end by the clock: how many there are is the machine's.
    warmup_and_intervals.INTERVAL_S = 1e6
    counts = Counts()
    x = np.ones((8 * EXECUTIONS, 4), "float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    threading.setprofile(counts.count)
    sys.setprofile(counts.count)
    try:
        suite = kp.perf_callbacks(log_dir, profiler={"skip_first": 10**9}, summary=False)
        model.fit(x, x[:, :1], batch_size=8, epochs=2, verbose=0, callbacks=[counts, *suite])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return counts.calls


found = trained(sys.argv[1])
print(
    json.dumps(
        {
            f"{Path(code.co_filename).name}:{code.co_name}": count / EXECUTIONS
            for code, count in found.most_common()
        }
    )
)
