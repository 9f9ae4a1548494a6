"""How exact the split is, against sleeps that were put into the input and a callback.

    python benchmarks/split.py

What: a small `fit` for each sleep of 0 to 40 ms in the input (without prefetching) and in a batch
hook, with one and with eight steps per execution. The sleeping function itself notes how long it
slept; printed are that, the part that the split found, and the difference, and at the end the
median of the differences in ms and relative to the sleep.

How: both are means over the reported steps of the same run. In the input, what `numpy_function`
itself costs around the sleep counts as input wait too; it is shown by the row of 0 ms.
"""

from __future__ import annotations

import datetime
import os
import platform
import tempfile
import time
from statistics import mean, median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

import keras_perf as kp

SLEEPS_MS = (0, 1, 2, 5, 10, 20, 40)
STEPS = 80


class Sleep:
    """Sleeps, and notes for how long."""

    def __init__(self, ms: float) -> None:
        self.ms, self.noted = ms, []

    def __call__(self, value: Any = None) -> Any:
        """Sleeps; gives back what it is given."""
        begin = time.perf_counter()
        if self.ms:
            time.sleep(self.ms / 1e3)
        self.noted.append((time.perf_counter() - begin) * 1e3)
        return value


class Hook(keras.callbacks.Callback):
    """Sleeps in its batch hook."""

    def __init__(self, sleep: Sleep) -> None:
        super().__init__()
        self.sleep = sleep

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Sleeps."""
        self.sleep()


def found(n: int, source: Sleep, hook: Sleep) -> dict[str, float]:
    """The breakdown of a run with these sleeps."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False, steps_per_execution=n)
    x = np.ones((8, 8), "float32")

    def batch(place: Any) -> Any:
        slept = tf.cast(tf.numpy_function(source, [place], tf.int64), tf.float32)
        batch = tf.ensure_shape(x + 0.0 * slept, x.shape)
        return batch, batch[:, :1]

    data = tf.data.Dataset.range(STEPS).map(batch)
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    with tempfile.TemporaryDirectory() as log_dir:
        model.fit(
            data.with_options(options),
            verbose=0,
            shuffle=False,
            callbacks=[kp.StepGapDetector(log_dir), Hook(hook)],
        )
        return dict(kp.diagnose(log_dir).breakdown)


def main() -> None:
    """Prints the table."""
    print(
        f"{datetime.date.today()}, {platform.platform()}, {os.cpu_count()} CPUs, "
        f"python {platform.python_version()}, tensorflow {tf.__version__}"
    )
    header = ["where", "N", "slept ms", "found ms", "error ms", "error"]
    widths = [10, 4, 10, 10, 10, 8]
    print("".join(h.rjust(w) for h, w in zip(header, widths, strict=True)))
    absolute, relative = [], []
    for where, part in (("input", "input_wait"), ("callback", "callbacks")):
        for n in (1, 8):
            for ms in SLEEPS_MS:
                source = Sleep(ms if where == "input" else 0)
                hook = Sleep(ms if where == "callback" else 0)
                parts = found(n, source, hook)
                slept = mean(source.noted[16:]) if where == "input" else mean(hook.noted[3:]) / n
                error = parts[part] - slept
                absolute.append(abs(error))
                relative.append(abs(error) / slept if ms else None)
                share = f"{error / slept:+.1%}" if ms else ""
                row = [where, str(n), f"{slept:.2f}", f"{parts[part]:.2f}", f"{error:+.2f}", share]
                print("".join(c.rjust(w) for c, w in zip(row, widths, strict=True)), flush=True)
    known = [share for share in relative if share is not None]
    print(f"median error {median(absolute):.2f} ms, {median(known):.1%} of the sleep")


if __name__ == "__main__":
    main()
