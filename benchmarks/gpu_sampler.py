"""What GPUUtilizationSampler costs: CPU time of its thread, and the slow-down of a tiny `fit`.

    python benchmarks/gpu_sampler.py [--repeats 5] [--steps 5000]

What: first, for one and for eight GPUs, the CPU time that the sampling thread takes for one
sample. Then `fit` on the tiny model of `overhead.py` with the sampler at 5, 20 and 100 samples a
second; the figure that counts is by how much it would be quicker if steps in which a sample falls
took as long as the others of the same `fit` do, median and quartiles over the repeats. (Whole fits
with and without a sampler differ by 5 % from one to the next on a shared machine: of 1 % they tell
nothing.) What the sampler costs steps in which it does nothing is not in it.

How: the GPU is a stand-in, a library in NVIDIA's place that answers at once (tests/nvml), below
the real pynvml. So the figures hold all of our own work and the binding's, and nothing of the
driver's, whose calls wait outside Python's lock. It needs a C compiler, and no GPU.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "nvml"))

import keras
import numpy as np
import result
import stand_in
from overhead import EPOCHS, fit, model_and_data

import keras_perf as kp
from keras_perf.backends.on_tensorflow import OnTensorFlow
from keras_perf.observers.gpu_and_host import GpuHostSampler
from keras_perf.observers.sensors.sampler import BackgroundSampler

RATES_HZ = (5, 20, 100)
SAMPLES = 200


def thread_us(gpus: int) -> float:
    """CPU microseconds of one sample of so many GPUs."""
    times: list[int] = []
    watch = GpuHostSampler(
        0.01, print, absent=print, after_sample=lambda: times.append(time.thread_time_ns())
    )
    assert len(watch.facts.gpus) == gpus
    while len(times) < SAMPLES:
        time.sleep(0.05)
    watch.stop()
    return (times[SAMPLES - 1] - times[0]) / (SAMPLES - 1) / 1e3


class StepEnds(keras.callbacks.Callback):
    """Notes when each step ended."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """By the clock that samples are noted by."""
        self.seconds.append(time.perf_counter())


@contextmanager
def noted_samples() -> Iterator[list[tuple[float, float]]]:
    """When each sample of a sampler that is made meanwhile began and ended."""
    spans: list[tuple[float, float]] = []
    sample = BackgroundSampler.sample

    def noted(self: BackgroundSampler, now: float) -> None:
        begin = time.perf_counter()
        sample(self, now)
        spans.append((begin, time.perf_counter()))

    BackgroundSampler.sample = noted  # type: ignore[method-assign]
    try:
        yield spans
    finally:
        BackgroundSampler.sample = sample  # type: ignore[method-assign]


def sampled_fit(model: Any, data: Any, steps: int, rate_hz: int) -> tuple[float, float]:
    """Microseconds of a step that no sample falls into, and by how much the others slow `fit`."""
    ends = StepEnds()
    with tempfile.TemporaryDirectory() as log_dir, noted_samples() as spans:
        sampler = kp.GPUUtilizationSampler(log_dir, interval_s=1 / rate_hz)
        fit(model, data, steps, [kp.StepGapDetector(log_dir, summary=False), sampler, ends])
    # The first epoch traces and warms up, and between two the loop does other things.
    times = np.reshape(ends.seconds, (EPOCHS, steps))[1:]
    took = np.diff(times, axis=1)
    undisturbed = np.ones_like(took, dtype=bool)
    for begin, end in spans:
        undisturbed &= (times[:, 1:] < begin) | (times[:, :-1] > end)
    alone_s = took[undisturbed].mean()
    return 1e6 * alone_s, 100 * (took.mean() / alone_s - 1)


def fits(repeats: int, steps: int) -> result.Table:
    """Slow-downs."""
    model, data = model_and_data()
    fit(model, data, steps, [])  # traces
    found: dict[int, list[tuple[float, float]]] = {rate: [] for rate in RATES_HZ}
    for _ in range(repeats):
        for rate in RATES_HZ:
            found[rate].append(sampled_fit(model, data, steps, rate))
    rows = result.Table()
    for rate, measured in found.items():
        step_us, slower = np.transpose(measured)
        low, middle, high = np.percentile(slower, [25, 50, 75])
        rows.add(
            samples_per_sec=rate,
            step_us=np.median(step_us),
            slower_pct=middle,
            lower_quartile_pct=low,
            upper_quartile_pct=high,
            repeats=repeats,
        )
    return rows


def main() -> None:
    """Measures and prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="fits with each rate")
    parser.add_argument("--steps", type=int, default=5000, help="steps an epoch")
    arguments = parser.parse_args()
    result.begin()
    samples = result.Table()
    OnTensorFlow.gpus = lambda _: None  # TensorFlow sees no stand-in
    with tempfile.TemporaryDirectory() as folder:
        library = stand_in.build(Path(folder))
        for gpus in (1, 8):
            with stand_in.under_pynvml(library) as scripted:
                for number in range(gpus):
                    scripted.set(scripted.add(f"GPU-{number}"), has_gpm=1)
                samples.add(gpus=gpus, cpu_us=thread_us(gpus))
        with stand_in.under_pynvml(library) as scripted:
            scripted.set(scripted.add("GPU-0"), has_gpm=1)
            slower = fits(arguments.repeats, arguments.steps)
    result.keep(arguments.json, samples=samples, slower=slower)


if __name__ == "__main__":
    main()
