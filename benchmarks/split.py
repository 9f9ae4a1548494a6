"""How exact the split is, against sleeps that were put into the input and a callback.

    python benchmarks/split.py [--sleeps 0,1,2,5,10,20,40]

What: a small `fit` for each sleep of 0 to 40 ms in the input (without prefetching) and in a batch
hook, with one and with eight steps per execution. The sleeping function itself notes how long it
slept; printed are that, the part that the split found, and the difference, and at the end the
median of the differences in ms and relative to the sleep.

How: both are means over the reported steps of the same run. In the input, what `numpy_function`
itself costs around the sleep counts as input wait too; it is shown by the row of 0 ms.
"""

from __future__ import annotations

import os
import tempfile
import time
from statistics import mean, median
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import result
import tensorflow as tf

import keras_perf as kp

SLEEPS_MS = "0,1,2,5,10,20,40"
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


def row(where: str, n: int, ms: float) -> dict[str, Any]:
    """One `fit`, with such a sleep there."""
    source, hook = Sleep(ms if where == "input" else 0), Sleep(ms if where == "callback" else 0)
    parts = found(n, source, hook)
    slept = mean(source.noted[16:]) if where == "input" else mean(hook.noted[3:]) / n
    told = parts["input_wait" if where == "input" else "callbacks"]
    of = {"error_ms": told - slept, "error_pct": 100 * (told - slept) / slept if ms else None}
    return {"where": where, "N": n, "slept_ms": slept, "found_ms": told, **of}


def main() -> None:
    """Prints the table."""
    parser = result.parser(__doc__)
    parser.add_argument("--sleeps", default=SLEEPS_MS, help="ms; default: %(default)s")
    arguments = parser.parse_args()
    result.begin()
    sleeps = [float(ms) for ms in arguments.sleeps.split(",")]
    rows, errors = result.Table(), result.Table()
    for where in ("input", "callback"):
        for n in (1, 8):
            for ms in sleeps:
                rows.add(**row(where, n, ms))
    sizes = [abs(each["error_ms"]) for each in rows]
    shares = [abs(each["error_pct"]) for each in rows if each["error_pct"] is not None]
    errors.add(median_ms=median(sizes), largest_ms=max(sizes), median_pct=median(shares))
    result.keep(arguments.json, sleeps=rows, errors=errors)


if __name__ == "__main__":
    main()
