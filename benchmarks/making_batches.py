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
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
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


CASES = (
    Case(8, 2),
    Case(16, 1),
    Case(16, 2),
    Case(16, 2, workers=4),
    Case(32, 2),
    Case(32, 4),
    *(Case(*each, workers=2, processes=True) for each in ((8, 2), (16, 1), (16, 2), (32, 2))),
)


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

    images = np.random.default_rng(1).integers(0, 255, (EXAMPLES, SIDE, SIDE, 3), dtype=np.uint8)
    labels, make = np.zeros(EXAMPLES, "int32"), Augmenting(case.times)

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


def main() -> None:
    """Prints the table."""
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
    result.keep(arguments.json, gains=gains)


if __name__ == "__main__":
    main()
