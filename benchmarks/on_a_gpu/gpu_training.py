"""Are the figures of a training on a GPU right? Trains with Keras on it, and compares.

    make test-gpu        or        python benchmarks/on_a_gpu/gpu_training.py [--width 4096]

What: of captured steps the number and time of kernels, tensor cores and the device's part of a step
against xprof's own tables, a step against a clock in a hook, and against the split of the other
steps; the device's idle time against sleeps that a hook makes; matrix products, traced and in the
split, against CUDA's events; the peak of memory against the sizes of what a step must keep; what
all callbacks together add to a step; the gains of XLA, half precision, a thread mode and twice the
batch, on trial and as predicted, against a clock, in turns with it and without; where
there are several GPUs, the loss that the template reaches on all of them against that on one, and
the exchange of gradients in a trace.

How: Keras computes with KERAS_BACKEND, or else with the first of TensorFlow and JAX that finds a
GPU; `make test-gpu` does it with each. The models are Dense layers of one width, so that what they
multiply and keep is known. What is not installed is skipped, and a line says so; a check that fails
leaves the others to go on. What is printed is kept as by gpu_readings.py; so are the exit codes.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from importlib.util import find_spec

import gpu_checks
import result
from gpu_checks import Say, check

from keras_perf.observers.sensors.sensor import SensorError

BACKENDS = ("tensorflow", "jax")
SHARING = {"TF_FORCE_GPU_ALLOW_GROWTH": "true", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Some comparisons train in other processes: this one must leave them memory."""


def gpus(backend: str) -> int:
    """How many it finds."""
    if backend == "tensorflow":
        import tensorflow as tf

        return len(tf.config.list_physical_devices("GPU"))
    import jax

    return sum(device.platform in ("gpu", "cuda") for device in jax.local_devices())


def choose() -> tuple[str, int]:
    """What Keras computes with from now on, and how many GPUs that finds.

    Raises:
        RuntimeError: none of what is installed finds one; it says of each why.
    """
    asked = os.environ.get("KERAS_BACKEND")
    reasons = []
    os.environ.update(SHARING)
    for backend in [asked] if asked else BACKENDS:
        if backend not in BACKENDS:
            reasons.append(f"{backend}: keras_perf does not observe it")
        elif find_spec(backend) is None:
            reasons.append(f"{backend}: it is not installed")
        elif found := gpus(backend):
            os.environ["KERAS_BACKEND"] = backend
            return backend, found
        else:
            reasons.append(f"{backend}: it finds no GPU")
    raise RuntimeError("; ".join(reasons))


def main() -> int:
    """Compares, prints, and keeps what it prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--width", type=int, default=4096, help="of each layer")
    parser.add_argument("--rows", type=int, default=2048, help="of a batch")
    arguments = parser.parse_args()
    try:
        model, _ = gpu_checks.first_gpu()
    except SensorError as error:
        return gpu_checks.no_gpu(error)
    if find_spec("keras") is None:
        print("Keras is not installed.")
        return result.NOTHING_TO_MEASURE
    try:
        backend, found = choose()
    except RuntimeError as error:
        print(f"Nothing to train with on the GPU: {error}.")
        return result.NOTHING_TO_MEASURE
    from gpu_comparisons import Bench

    def work(say: Say) -> bool:
        return check(Bench(found, arguments.width, arguments.rows).all(), say)

    versions = f"Keras {version('keras')} on {backend} {version(backend)}"
    how = f"{versions}, {found} GPUs, layers of {arguments.width}, {arguments.rows} rows"
    table = f"checks_on_{backend}"
    return gpu_checks.compare("gpu_training", model, how, work, arguments.json, table)


if __name__ == "__main__":
    sys.exit(main())
