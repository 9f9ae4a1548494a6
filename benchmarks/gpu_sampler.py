"""What GPUUtilizationSampler costs: CPU time of its thread, and the slow-down of a tiny `fit`.

    python benchmarks/gpu_sampler.py [--repeats 7] [--steps 1500]

What: first, for one and for eight GPUs, the CPU time that the sampling thread takes for one
sample. Then `fit` on the tiny model of `overhead.py` with the sampler at 5, 20 and 100 samples a
second; the figure that counts is the slow-down against the same `fit` with the sampler left out,
median and quartiles over repeats in which every variant runs once, shuffled.

How: the GPU is a stand-in, a library in NVIDIA's place that answers at once (tests/nvml), below
the real pynvml. So the figures hold all of our own work and the binding's, and nothing of the
driver's, whose calls wait outside Python's lock. It needs a C compiler, and no GPU.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "nvml"))

import numpy as np
import result
import stand_in
from overhead import EPOCHS, Stopwatch, fit, model_and_data

import keras_perf as kp
from keras_perf.backends.on_tensorflow import OnTensorFlow
from keras_perf.observers.gpu_and_host import GpuHostSampler

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


def step_us(model: Any, data: Any, steps: int, rate_hz: int) -> float:
    """One `fit`: microseconds a step; 0 Hz is without a sampler."""
    with tempfile.TemporaryDirectory() as log_dir:
        ours = [kp.GPUUtilizationSampler(log_dir, interval_s=1 / rate_hz)] if rate_hz else []
        # The bare observation is on in every variant, so that the difference is the sampler.
        callbacks = [kp.StepGapDetector(log_dir), *ours]
        watch = Stopwatch(callbacks)
        fit(model, data, steps, [watch, *callbacks])
    return watch.seconds / (EPOCHS - 1) / steps * 1e6


def fits(repeats: int, steps: int) -> result.Table:
    """Slow-downs."""
    model, data = model_and_data()
    fit(model, data, steps, [])  # traces, warms up
    order = [0, *RATES_HZ]
    times: dict[int, list[float]] = {rate: [] for rate in order}
    for repeat in range(repeats):
        random.Random(repeat).shuffle(order)
        for rate in order:
            times[rate].append(step_us(model, data, steps, rate))
    rows = result.Table()
    for rate in sorted(order):
        slower = 100 * (np.array(times[rate]) / np.array(times[0]) - 1)
        low, middle, high = np.percentile(slower, [25, 50, 75])
        rows.add(
            samples_per_sec=rate,
            step_us=np.median(times[rate]),
            slower_pct=middle,
            lower_quartile_pct=low,
            upper_quartile_pct=high,
            repeats=repeats,
        )
    return rows


def main() -> None:
    """Measures and prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="runs of each variant")
    parser.add_argument("--steps", type=int, default=1500, help="steps an epoch")
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
