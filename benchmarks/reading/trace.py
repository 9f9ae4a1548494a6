"""What capturing a trace costs per step, and how fast one is read.

    python benchmarks/reading/trace.py [--repeats 5] [--steps 200] [--read-steps 3000]

What: first a tiny model (steps of about a millisecond) traced at several levels of TensorFlow's
host and Python tracers: what a traced step takes longer, how long `stop` blocks, and how much a
step adds to the file. Then one large trace, of every operation (host 3): what saving it takes,
and how fast it is read by `keras_perf.read_trace`, by xprof's overview page, and event by event
through `xprof.profile_data`. At last what `read_trace` makes of sleeps of known length in the
input and in a callback.

How: a run is one `fit` with 50 steps of warm-up, then the traced steps, timed from before the
first to after the last without `start` and `stop`; each repeat runs every level once, shuffled,
and "added" is the difference to the run without a trace of the same repeat. What saving takes of
memory is the most that the process had meanwhile over what it had before. Each reader runs in a
process of its own; wall time without imports, and the most memory that the process had. An error
is the median of what was read, step by step, less what was slept.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).parents[1]))

import keras
import numpy as np
import result
import tensorflow as tf

import keras_perf

WARM_UP = 50
LEVELS = {
    "no trace": None,
    "host 1, Python 0": (1, 0),
    "host 2, Python 0 (WindowedProfiler's)": (2, 0),
    "host 3, Python 0": (3, 0),
    "host 2, Python 1": (2, 1),
}

READERS = {
    "keras_perf.read_trace": """
from keras_perf import read_trace
begin = time.perf_counter()
read_trace(path)
""",
    "xprof, overview page": """
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
begin = time.perf_counter()
xspace_to_tool_data([path], "overview_page", {"use_saved_result": False})
""",
    "xprof.profile_data, every event": """
from xprof.profile_data import ProfileData
begin = time.perf_counter()
for plane in ProfileData.from_file(path).planes:
    for line in plane.lines:
        for event in line.events:
            event.name, event.start_ns, event.duration_ns
""",
}

PRINT = """
seconds = time.perf_counter() - begin
# getrusage would give the parent's peak where that was higher.
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(seconds, int(peak) / 1024)
"""


class Level(int):
    """TensorFlow 2.20 and 2.21 ignore levels whose truth can be told."""

    def __bool__(self) -> bool:
        raise TypeError("no truth value")


class Run(NamedTuple):
    """What one traced `fit` took."""

    step_us: float
    stop_ms: float
    kib_per_step: float
    stop_mib: float


class Tracing(keras.callbacks.Callback):
    """Traces some steps after warm-up and times them."""

    def __init__(self, log_dir: str, levels: tuple[int, int] | None, steps: int) -> None:
        super().__init__()
        self.log_dir, self.levels, self.end = log_dir, levels, WARM_UP + steps - 1
        self.begin = self.step_s = self.stop_s = self.stop_mib = 0.0
        self.marker: Any = None

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Starts before the first step, and marks each."""
        if batch == WARM_UP:
            if self.levels:
                host, python = map(Level, self.levels)
                options = tf.profiler.experimental.ProfilerOptions(host, python, Level(1))
                tf.profiler.experimental.start(self.log_dir, options)
            self.begin = time.perf_counter()
        if self.levels and batch >= WARM_UP:
            self.marker = tf.profiler.experimental.Trace("train", step_num=batch, _r=1)
            self.marker.__enter__()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Stops after the last step."""
        if self.marker is not None:
            self.marker.__exit__(None, None, None)
        if batch == self.end:
            self.step_s = time.perf_counter() - self.begin
            if self.levels:
                before_mib = memory_mib("VmRSS")
                # The kernel starts to look for the most anew.
                Path("/proc/self/clear_refs").write_text("5")
                begin = time.perf_counter()
                tf.profiler.experimental.stop()
                self.stop_s = time.perf_counter() - begin
                self.stop_mib = memory_mib("VmHWM") - before_mib


def memory_mib(which: str) -> float:
    """Memory of this process: `VmRSS` now, `VmHWM` the most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [kib] = [line.split()[1] for line in lines if line.startswith(which)]
    return int(kib) / 1024


def trace(model: keras.Model, levels: tuple[int, int] | None, steps: int, log_dir: str) -> Run:
    """One `fit`, traced."""
    random_ = np.random.default_rng(0)
    x = random_.normal(size=(8 * (WARM_UP + steps), 8)).astype("float32")
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
    tracing = Tracing(log_dir, levels, steps)
    model.fit(data, epochs=1, verbose=0, shuffle=False, callbacks=[tracing])
    size = sum(file.stat().st_size for file in Path(log_dir).rglob("*.xplane.pb"))
    return Run(
        1e6 * tracing.step_s / steps, 1e3 * tracing.stop_s, size / 1024 / steps, tracing.stop_mib
    )


def tiny_model() -> keras.Model:
    """A small MLP without XLA."""
    layers = [keras.layers.Input((8,)), keras.layers.Dense(16, "relu"), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse", jit_compile=False)
    return model


def captured(model: keras.Model, repeats: int, steps: int) -> result.Table:
    """A row a level."""
    runs: dict[str, list[Run]] = {name: [] for name in LEVELS}
    for _ in range(repeats):
        for name in random.sample(list(LEVELS), len(LEVELS)):
            with tempfile.TemporaryDirectory() as log_dir:
                runs[name].append(trace(model, LEVELS[name], steps, log_dir))
    without = runs["no trace"]
    rows = result.Table()
    for name, found in runs.items():
        added = statistics.median(
            run.step_us - other.step_us for run, other in zip(found, without, strict=True)
        )
        step, stop, size, _ = (statistics.median(column) for column in zip(*found, strict=True))
        rows.add(tracers=name, step_us=step, added_us=added, stop_ms=stop, kib_per_step=size)
    return rows


def read(path: Path) -> result.Table:
    """A row a reader."""
    rows = result.Table()
    for name, reader in READERS.items():
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(path, folder)
            code = "import sys, time\npath = sys.argv[1]\n" + reader + PRINT
            command = [sys.executable, "-c", code, copy]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds, peak = map(float, done.stdout.split())
        rows.add(reader=name, s=seconds, peak_mib=peak)
    return rows


class Sleep(keras.callbacks.Callback):
    """Sleeps 3 ms after each batch, or 5 ms where the input calls it; keeps how long it took."""

    def __init__(self) -> None:
        super().__init__()
        self.slept_ms: dict[str, list[float]] = {"input": [], "callback": []}

    def sleep(self, where: str, seconds: float) -> None:
        """Sleeps."""
        begin = time.perf_counter()
        time.sleep(seconds)
        self.slept_ms[where].append(1e3 * (time.perf_counter() - begin))

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Sleeps."""
        self.sleep("callback", 0.003)

    def slow(self, x: tf.Tensor) -> tf.Tensor:
        """The batch as it is, after a sleep."""

        def through_python(values: np.ndarray) -> np.ndarray:
            self.sleep("input", 0.005)
            return values

        return tf.ensure_shape(tf.numpy_function(through_python, [x], tf.float32), x.shape)


def errors(steps_per_execution: int) -> dict[str, Any]:
    """What `read_trace` is off by, of forty steps."""
    model, sleep = tiny_model(), Sleep()
    model.steps_per_execution = steps_per_execution
    x = np.random.default_rng(0).normal(size=(8 * 80, 8)).astype("float32")
    options = tf.data.Options()
    # Every batch is waited for: nothing is prepared ahead.
    options.experimental_optimization.inject_prefetch = False
    data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8, drop_remainder=True)
    data = data.map(lambda x, y: (sleep.slow(x), y)).with_options(options)
    with tempfile.TemporaryDirectory() as log_dir:
        profiler = keras_perf.WindowedProfiler(log_dir, warmup_steps=20, active_steps=40)
        model.fit(data, verbose=0, shuffle=False, callbacks=[sleep, profiler])
        found = keras_perf.read_trace(log_dir).to_frame()
    slept = {where: np.array(ms) for where, ms in sleep.slept_ms.items()}
    wait = np.median(found["input_wait_ms"] - slept["input"][found["step"]])
    gaps = found.groupby("execution").tail(1)[:-1]
    gap = np.median(gaps["gap_ms"] - slept["callback"][gaps["step"] // steps_per_execution])
    return {"N": steps_per_execution, "wait_off_by_ms": wait, "gap_off_by_ms": gap}


def main() -> None:
    """Measures and prints."""
    parser = result.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="of every level, at least 1")
    parser.add_argument("--steps", type=int, default=200, help="traced in each run")
    parser.add_argument("--read-steps", type=int, default=3000, help="in the trace that is read")
    arguments = parser.parse_args()
    result.begin()
    model = tiny_model()
    capture = captured(model, arguments.repeats, arguments.steps)
    saved, off = result.Table(), result.Table()
    with tempfile.TemporaryDirectory() as log_dir:
        run = trace(model, (3, 0), arguments.read_steps, log_dir)
        [path] = Path(log_dir).rglob("*.xplane.pb")
        size_mib = path.stat().st_size / 2**20
        steps, stop_s = arguments.read_steps, run.stop_ms / 1e3
        saved.add(steps=steps, size_mib=size_mib, stop_s=stop_s, memory_mib=run.stop_mib)
        readers = read(path)
    for steps_per_execution in (1, 4):
        off.add(**errors(steps_per_execution))
    result.keep(arguments.json, capture=capture, saved=saved, readers=readers, errors=off)


if __name__ == "__main__":
    main()
