"""How much faster a step is without the making of batches that hides behind its computing.

    python benchmarks/making_batches.py [--backend jax] [--rounds 10] [--steps 40]

What: small convolutional models trained by `fit` on the CPU, on a `PyDataset` that augments images
with NumPy, by itself, in four threads (`workers=4`) or in two processes (`use_multiprocessing`),
and on one that hands out batches made before. Where a device of its own computes, such making costs
nothing; here both need the cores.

How: each round trains an epoch on the one and an epoch on the other; a round's gain is the time of
the first over that of the second. Making a batch is timed by the CPU clock of the thread that does,
and in processes by what the system counts of those that have ended.
Printed is a row for each model and number of workers, with the share of all cores that making takes
of a step, and how much of the step goes with it for each hundredth of that share.

A second table tells what happens when two processes take over from the thread: each round trains an
epoch with the thread, one with the processes and one on ready batches, and the length of a step is
that of the second half of an epoch, when the processes have started. The last rows hand over ready
batches of several sizes: what is left there of a step is what handing over costs.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import result

SIDE, EXAMPLES = 40, 32


@dataclass(frozen=True)
class Case:
    """A model of so many filters, and how often each image is augmented, by how many workers."""

    filters: int
    times: int
    workers: int = 1
    processes: bool = False
    examples: int = EXAMPLES


CASES = (
    Case(8, 2),
    Case(16, 1),
    Case(16, 2),
    Case(16, 2, workers=4),
    Case(32, 2),
    Case(32, 4),
    *(Case(*each, workers=2, processes=True) for each in ((8, 2), (16, 1), (16, 2), (32, 2))),
)


MOVED = (
    *(Case(filters, times) for filters in (8, 16, 32) for times in (1, 2, 4)),
    *(Case(4, 0, examples=examples) for examples in (1, 8, 32, 128)),
)
"""What two processes take over."""


class Augmenting:
    """Makes a batch of images, and knows what CPU time that took."""

    def __init__(self, times: int) -> None:
        self.times, self.took_s = times, list[float]()
        self._random = np.random.default_rng(0)

    def __call__(self, images: np.ndarray) -> np.ndarray:
        """Of one batch."""
        begin = time.thread_time()
        made = images.astype("float32") / 255
        for place, image in enumerate(made):
            for _ in range(self.times):
                image = np.roll(image, self._random.integers(-4, 4, 2), (0, 1))
                brightness = self._random.uniform(0.8, 1.2)
                image = np.clip((image - image.mean()) * brightness + image.mean(), 0, 1)
            made[place] = image
        self.took_s.append(time.thread_time() - begin)
        return made


def datasets(case: Case, steps: int) -> tuple[Any, Any, Augmenting]:
    """One that makes its batches, one that has them, and who makes them."""
    import keras

    shape = case.examples, SIDE, SIDE, 3
    images = np.random.default_rng(1).integers(0, 255, shape, dtype=np.uint8)
    labels, make = np.zeros(case.examples, "int32"), Augmenting(case.times)

    class Made(keras.utils.PyDataset):
        def __len__(self) -> int:
            return steps

        def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
            return make(images), labels

    class Ready(Made):
        made = make(images)

        def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
            return self.made, labels

    return Made(workers=case.workers, use_multiprocessing=case.processes), Ready(), make


def model_of(case: Case) -> Any:
    """Two convolutions."""
    import keras

    layers = [
        keras.layers.Conv2D(case.filters, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(2 * case.filters, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(10, activation="softmax"),
    ]
    model = keras.Sequential([keras.Input((SIDE, SIDE, 3)), *layers])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def computed_by_children() -> float:
    """Seconds of CPU time of child processes that have ended, as Keras's do with each epoch."""
    times = os.times()
    return times.children_user + times.children_system


def row(case: Case, rounds: int, steps: int) -> dict[str, Any]:
    """Of one case."""
    made, ready, make = datasets(case, steps)
    model = model_of(case)

    def epoch_ms(data: Any) -> float:
        begin = time.perf_counter()
        model.fit(data, verbose=0)
        return 1e3 * (time.perf_counter() - begin) / steps

    for data in (made, ready):
        epoch_ms(data)
    make.took_s.clear()
    begin_s = computed_by_children()
    pairs = np.array([(epoch_ms(made), epoch_ms(ready)) for _ in range(rounds)])
    in_processes_s = (computed_by_children() - begin_s) / rounds / steps
    making_ms = 1e3 * (in_processes_s if case.processes else float(np.median(make.took_s)))
    step_ms = float(np.median(pairs[:, 0]))
    share = making_ms / step_ms / (os.cpu_count() or 1)
    gains = np.percentile(pairs[:, 0] / pairs[:, 1], (25, 50, 75))
    return {
        "filters": case.filters,
        "augmented_times": case.times,
        "workers": case.workers,
        "processes": "yes" if case.processes else "no",
        "making_cpu_ms": making_ms,
        "step_ms": step_ms,
        "ready_step_ms": float(np.median(pairs[:, 1])),
        "share_of_cores_pct": 100 * share,
        "faster_times": gains[1],
        "lower_quartile": gains[0],
        "upper_quartile": gains[2],
        "saved_per_share": float(1 - 1 / gains[1]) / share,
    }


class SecondHalf:
    """When the second half of an epoch begins, and when it ends."""

    def __init__(self, steps: int) -> None:
        import keras

        self.at, self.last = steps // 2, steps - 1
        self.callback = keras.callbacks.LambdaCallback(on_train_batch_end=self._tell)
        self.begin = self.end = 0.0

    def _tell(self, batch: int, logs: Any) -> None:
        if batch == self.at:
            self.begin = time.perf_counter()
        if batch == self.last:
            self.end = time.perf_counter()

    @property
    def step_ms(self) -> float:
        """Of the epoch that was trained last."""
        return 1e3 * (self.end - self.begin) / max(1, self.last - self.at)


def moved_row(case: Case, rounds: int, steps: int) -> dict[str, Any]:
    """Of one case whose batches a thread makes, two processes make, and nobody makes."""
    in_thread, ready, make = datasets(case, steps)
    in_processes, _, _ = datasets(replace(case, workers=2, processes=True), steps)
    model, timed = model_of(case), SecondHalf(steps)

    def epoch(data: Any) -> tuple[float, float]:
        """A step's length, and its CPU time in all processes, of all that was done."""
        begin = os.times()
        model.fit(data, verbose=0, callbacks=[timed.callback])
        used = sum(os.times()[:4]) - sum(begin[:4])
        return timed.step_ms, 1e3 * used / steps

    ways = in_thread, in_processes, ready
    for data in ways:
        epoch(data)
    make.took_s.clear()
    found = np.array([[epoch(data) for data in ways] for _ in range(rounds)])
    lengths, (thread_cpu, processes_cpu, ready_cpu) = found[..., 0], found[..., 1].mean(0)
    gains = np.percentile(lengths[:, 0] / lengths[:, 1], (25, 50, 75))
    thread_ms, processes_ms, ready_ms = np.median(lengths, axis=0)
    return {
        "filters": case.filters,
        "augmented_times": case.times,
        "batch_kib": case.examples * SIDE * SIDE * 3 * 4 / 1024,
        "making_cpu_ms": 1e3 * float(np.median(make.took_s)),
        "thread_cpu_ms": thread_cpu,
        "processes_cpu_ms": processes_cpu,
        "ready_cpu_ms": ready_cpu,
        "thread_step_ms": thread_ms,
        "processes_step_ms": processes_ms,
        "ready_step_ms": ready_ms,
        "faster_times": gains[1],
        "lower_quartile": gains[0],
        "upper_quartile": gains[2],
    }


def main() -> None:
    """Prints the tables."""
    parser = result.parser(__doc__)
    parser.add_argument("--backend", default="tensorflow", choices=("tensorflow", "jax"))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    os.environ["KERAS_BACKEND"] = arguments.backend
    result.begin()
    gains = result.Table()
    for case in CASES:
        gains.add(**row(case, arguments.rounds, arguments.steps))
    moved = result.Table()
    for case in MOVED:
        moved.add(**moved_row(case, arguments.rounds, arguments.steps))
    result.keep(arguments.json, gains=gains, moved=moved)


if __name__ == "__main__":
    main()
