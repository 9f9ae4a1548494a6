"""Are the figures read from a GPU right? Compares them with other tools, on a real one.

    make test-gpu        or        python benchmarks/gpu_readings.py [--seconds 10]

What: under a load that is busy for 0, 25, 50 and 100 % of the time, utilization against
`nvidia-smi` over the same seconds (within 10 points); energy from the counter against the power
that was polled (within 5 %); on Hopper and newer, activity of the tensor cores, near zero for
elementwise work and high for a large bfloat16 matrix product.

How: the load is made with PyTorch, JAX or TensorFlow, whichever is installed, on the first GPU
that this process sees. Beside it only nvidia-ml-py is needed (`pip install --no-deps -e .`).
What is printed also goes to benchmarks/results/. Exits with 1 if a figure is wrong, and with 2,
in one line, where there is no GPU or nothing to load it with.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from keras_perf.observers.nvml import NvmlReader
from keras_perf.observers.sampler import BackgroundSampler
from keras_perf.observers.sensor import SensorError
from keras_perf.records.phase import Phase

SIZE = 8192
PERIOD_S = 0.2
SETTLE_S = 2.0
"""NVML's utilization looks back for up to a second, and power is averaged by the driver."""

POINTS = 10.0
ENERGY_SHARE = 0.05
NO_TENSOR_PCT, MUCH_TENSOR_PCT = 2.0, 30.0

Work = Callable[[], object]


def pytorch() -> tuple[Work, Work]:
    """A matrix product and elementwise work, each waited for."""
    import torch

    x = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16)

    def waited(work: Work) -> Work:
        return lambda: (work(), torch.cuda.synchronize())

    return waited(lambda: x @ x), waited(lambda: torch.sin(x) * 2 + 1)


def jax() -> tuple[Work, Work]:
    """The same."""
    import jax
    import jax.numpy as jnp

    x = jnp.ones((SIZE, SIZE), jnp.bfloat16)
    product, elementwise = jax.jit(lambda x: x @ x), jax.jit(lambda x: jnp.sin(x) * 2 + 1)
    return lambda: product(x).block_until_ready(), lambda: elementwise(x).block_until_ready()


def tensorflow() -> tuple[Work, Work]:
    """The same."""
    import tensorflow as tf

    x = tf.cast(tf.random.normal((SIZE, SIZE)), tf.bfloat16)

    def waited(work: Work) -> Work:
        return lambda: (work(), tf.test.experimental.sync_devices())

    return waited(lambda: tf.matmul(x, x)), waited(lambda: tf.sin(x) * 2 + 1)


LOADS = {"torch": pytorch, "jax": jax, "tensorflow": tensorflow}


def run(work: Work, share: float, seconds: float) -> None:
    """Busy for that share of each period."""
    end = time.monotonic() + seconds
    while (begin := time.monotonic()) < end:
        while time.monotonic() < begin + share * PERIOD_S:
            work()
        time.sleep(max(0.0, begin + PERIOD_S - time.monotonic()))


def sampled(work: Work, share: float, seconds: float, uuid: str) -> tuple[dict[str, float], float]:
    """Means over the load, once it has settled: ours, and nvidia-smi's of utilization."""
    run(work, share, SETTLE_S)
    sampler = BackgroundSampler([NvmlReader()], 0.2, print, phase=Phase.TRAINING)
    readings: list[float] = []
    over = threading.Event()
    tool = threading.Thread(target=nvidia_smi, args=(uuid, readings, over))
    sampler.start()
    tool.start()
    try:
        run(work, share, seconds)
        return sampler.take().values, statistics.fmean(readings)
    finally:
        over.set()
        tool.join()
        sampler.stop()


def nvidia_smi(uuid: str, readings: list[float], over: threading.Event) -> None:
    """Asks the tool again and again: what it prints in a loop of its own may stay in a buffer."""
    query = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    while not over.wait(0.1):
        readings.append(float(subprocess.check_output(["nvidia-smi", "-i", uuid, *query])))


def checks(seconds: float, uuid: str, product: Work, elementwise: Work) -> list[tuple[str, bool]]:
    """A line for each comparison, and whether it holds."""
    found = []
    for share in (0.0, 0.25, 0.5, 1.0):
        values, theirs = sampled(product, share, seconds, uuid)
        ours = values["gpu/0/utilization_pct"]
        line = f"busy {share:4.0%}: utilization {ours:5.1f} %, nvidia-smi {theirs:5.1f} %"
        found.append((line, abs(ours - theirs) <= POINTS))
    counted, polled = values["gpu/0/mean_power_w"], values["gpu/0/power_w"]
    line = f"power: {counted:.1f} W by the energy counter, {polled:.1f} W polled"
    found.append((line, abs(counted / polled - 1) <= ENERGY_SHARE))
    if (high := values.get("gpu/0/tensor_active_pct")) is None:
        return [*found, ("no GPM on this GPU: activity of the tensor cores is not checked", True)]
    low = sampled(elementwise, 1.0, seconds, uuid)[0]["gpu/0/tensor_active_pct"]
    line = f"tensor cores: {low:.1f} % in elementwise work, {high:.1f} % in a matrix product"
    return [*found, (line, low <= NO_TENSOR_PCT and high >= MUCH_TENSOR_PCT)]


def main() -> int:
    """Compares, prints, and keeps what it prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    seconds = parser.parse_args().seconds
    try:
        reader = NvmlReader()
    except SensorError as error:
        print(f"No GPU to compare with: {error}.")
        return 2
    name = reader.describe()["gpu/0"]
    reader.close()
    there = [each for each in LOADS if importlib.util.find_spec(each)]
    if not there:
        print(f"Nothing to load the GPU with: install one of {', '.join(LOADS)}.")
        return 2
    product, elementwise = LOADS[there[0]]()
    results = checks(seconds, name.split()[-1], product, elementwise)
    today = datetime.date.today()
    model = name.rpartition(" ")[0]
    lines = [f"{today}, {model}, {platform.platform()}, load by {there[0]}, {seconds:g} s each"]
    lines += [f"{'ok   ' if holds else 'WRONG'} {line}" for line, holds in results]
    print("\n".join(lines))
    folder = Path(__file__).with_name("results")
    folder.mkdir(exist_ok=True)
    (folder / f"gpu_readings_{today}.txt").write_text("\n".join(lines) + "\n")
    return 0 if all(holds for _, holds in results) else 1


if __name__ == "__main__":
    sys.exit(main())
