"""Records small traces of trainings on a GPU, for tests to read.

    KERAS_BACKEND=jax python benchmarks/on_a_gpu/gpu_traces.py FOLDER

What: four steps each of a training that only computes, and of one in half precision whose hook
sleeps for 3 ms after each step, as <backend>-<name>.xplane.pb.gz; beside them <backend>.json with
the GPU, the driver, versions and the day, and of each trace what else is known of its steps: when
each ended by a clock in a hook, and how long the hook slept. JAX's traces name the files of the
Python code that trains: look at what they tell of the machine before you give them away.
"""

from __future__ import annotations

import datetime
import gzip
import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import gpu_checks
from gpu_training import choose

from keras_perf.observers.sensors.sensor import SensorError

STEPS, WARMUP, TRACED = 40, 20, 4
SLEPT_S = 0.003


def recorded(folder: Path, backend: str, name: str, slept_s: float, policy: str) -> dict[str, list]:
    """Writes one trace; what else is known of its steps."""
    import keras
    from gpu_programs import Sleeps, Training, Waits

    import keras_perf as kp

    waits, sleeps = Waits(), Sleeps(slept_s)
    callbacks: list[keras.callbacks.Callback] = [waits]
    if slept_s:
        callbacks.insert(0, sleeps)
    with tempfile.TemporaryDirectory() as log_dir:
        profiler = kp.WindowedProfiler(log_dir, warmup_steps=WARMUP, active_steps=TRACED)
        training = Training(1024, 256, depth=3, policy=policy)
        training.fit(STEPS, [*callbacks, profiler])
        [trace] = Path(log_dir).rglob("*.xplane.pb")
        file = folder / f"{backend}-{name}.xplane.pb.gz"
        file.write_bytes(gzip.compress(trace.read_bytes(), 9, mtime=0))
    return {"ended_s": waits.seconds, "slept_ms": sleeps.slept_ms}


def main() -> int:
    """Records both."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        model, _ = gpu_checks.first_gpu()
    except SensorError as error:
        return gpu_checks.no_gpu(error)
    backend, _ = choose()
    known = {
        "computing": recorded(folder, backend, "computing", 0.0, "float32"),
        "sleeping": recorded(folder, backend, "sleeping", SLEPT_S, "mixed_bfloat16"),
    }
    about = {
        "gpu": model,
        "driver": gpu_checks.driver(),
        "date": f"{datetime.datetime.now():%Y-%m-%d}",
        "versions": {name: version(name) for name in ("keras", backend, "numpy")},
    }
    text = json.dumps(about | {"traces": known}, indent=1)
    (folder / f"{backend}.json").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
