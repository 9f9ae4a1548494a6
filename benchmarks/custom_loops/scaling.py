"""What several workers buy, and what their exchange of gradients costs.

    python benchmarks/custom_loops/scaling.py [--workers 1,2,3] [--steps 300] [--widths 64,1024]

What: the loop of `keras-perf template` on a model of three dense layers of so many units, 32
examples for each worker, with 1, 2 and 3 workers on this machine, and with the gradients in
float32 and in float16. Printed are examples per second of all workers, the time of a step, and of
that the exchange and the waiting for slower workers, as the chief's monitor logged them.

How: each row is a training of its own, started with `keras-perf launch` in a network namespace
that has the loopback device only, because TensorFlow's server listens on all interfaces. Medians
over the logged intervals. Workers on one machine share its cores: with more workers than cores a
step's compute grows, which no second machine would show.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1]))

import result

EXAMPLES_PER_WORKER = 32


def train(width: int, flags: list[str]) -> int:
    """One worker's training."""
    import keras
    import tensorflow as tf

    from keras_perf.loop import exit_code, template

    layers = keras.layers
    template.make_model = lambda: keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Flatten(),
            *(layers.Dense(width, "relu") for _ in range(2)),
            layers.Dense(10),
        ]
    )
    tf.get_logger().setLevel("ERROR")
    return exit_code(lambda: template.main(flags))


def run(workers: int, width: int, steps: int, reduce_dtype: str | None) -> dict[str, object]:
    """Starts the workers, and reads what the chief logged."""
    import keras_perf as kp

    with tempfile.TemporaryDirectory() as folder:
        flags = [
            *("--steps", str(steps), "--evaluate-every", str(steps)),
            *("--batch-size", str(EXAMPLES_PER_WORKER * workers)),
            *("--log-dir", f"{folder}/logs", "--checkpoint-dir", f"{folder}/checkpoints"),
            *(("--reduce-dtype", reduce_dtype) if reduce_dtype else ()),
        ]
        program = [str(Path(__file__).resolve()), "--train", str(width), *flags]
        command = [sys.executable, *program]
        if workers > 1:
            launch = Path(sys.executable).with_name("keras-perf")
            command = [str(launch), "launch", "--workers", str(workers), *program]
        in_namespace = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        subprocess.run(in_namespace + command, check=True, capture_output=True, timeout=600)
        scalars = kp.load_scalars(f"{folder}/logs")
    run_of_chief = scalars[scalars.run.isin(["perf", "perf/worker_0"])]
    median = run_of_chief.groupby("tag").value.median()
    step_ms = median["perf/step_time_ms"]
    exchange_ms = median.get("perf/communication_ms", 0.0) - median.get("perf/peer_wait_ms", 0.0)
    return {
        "units": width,
        "workers": workers,
        "gradients": reduce_dtype or "float32",
        "examples_per_sec": EXAMPLES_PER_WORKER * workers / step_ms * 1e3,
        "step_ms": step_ms,
        "exchange_ms": exchange_ms,
        "peer_wait_ms": median.get("perf/peer_wait_ms", 0.0),
        "exchange_share": exchange_ms / step_ms,
    }


def main() -> None:
    """Prints a row for each number of workers."""
    if sys.argv[1:2] == ["--train"]:
        sys.exit(train(int(sys.argv[2]), sys.argv[3:]))
    parser = result.parser(__doc__)
    parser.add_argument("--workers", default="1,2,3")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--widths", default="64,1024")
    args = parser.parse_args()
    result.begin()
    rows = result.Table()
    for width in (int(each) for each in args.widths.split(",")):
        for workers in (int(each) for each in args.workers.split(",")):
            for reduce_dtype in (None, "float16") if workers > 1 else (None,):
                rows.add(**run(workers, width, args.steps, reduce_dtype))
    result.keep(args.json, workers=rows)


if __name__ == "__main__":
    main()
