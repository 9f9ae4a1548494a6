"""Trainings on a GPU, and what is told of each held against something else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import gpu_figures
import keras
import pandas as pd
from gpu_checks import Checked, Checks
from gpu_figures import Clocked
from gpu_loads import NoEventsError, product_ms
from gpu_programs import DEPTH, Sleeps, Training, Waits

import keras_perf as kp

WARMUP, TRACED, STEPS = 20, 20, 80
WATCHED = 600
"""Steps that sensors are to see: for more than a second. What a training does once, as to count its
operations, takes little of each."""
LONG_MS = 8.0
"""Of a matrix product: beside it a call of the train function is short."""
WIDTHS = (8192, 16384, 32768)
SLEPT_S = 0.02
ROUNDS = 5
TRIED_S = 60.0
HERE = Path(__file__).parent
PRODUCTS = 3
"""Of a layer: forward, and of two gradients."""
OF_A_REPLICA = re.compile(r"layers\.(BatchNormalization|Dropout)\(")
"""Each replica normalizes its own part of a batch, and draws random numbers of its own."""

TRACES = tempfile.TemporaryDirectory(prefix="gpu_training_")
"""They stay as long as the process: xprof opens their files once more."""

WATCHING: dict[str, Callable[[str], Sequence[keras.callbacks.Callback]]] = {
    "all callbacks": lambda d: kp.perf_callbacks(d, profiler=False, summary=False),
    "GPUUtilizationSampler": lambda d: [kp.GPUUtilizationSampler(d)],
}


class Captured(NamedTuple):
    """What is told of a training, and a clock's times in it."""

    trace: kp.Trace
    """Of some steps."""
    found: kp.Diagnosis
    """By the split of the others."""
    ended_s: list[float]
    """When each step had ended."""


class Bench:
    """The comparisons.

    Arguments:
        gpus: so many are there.
        width: of the layers.
        rows: of a batch.
    """

    def __init__(self, gpus: int, width: int, rows: int) -> None:
        self._gpus, self._width, self._rows = gpus, width, rows
        self._on_tensorflow = keras.backend.backend() == "tensorflow"
        self._captured: Captured | None = None

    def memory(self) -> Checked:
        """Before anything else: the peak is that of the process."""
        found = captured(Training(self._width, self._rows, optimizer="adam")).found
        # Weights with Adam's two moments, and what each layer gives.
        numbers = 3 * (DEPTH - 1) * self._width**2 + DEPTH * self._rows * self._width
        yield from gpu_figures.peak_as_counted(found.summary.facts, 4 * numbers / 2**20)

    def usual(self) -> Captured:
        """Of a training that only computes."""
        if self._captured is None:
            self._captured = captured(Training(self._width, self._rows))
        return self._captured

    def kernels(self) -> Checked:
        """Against xprof."""
        yield from gpu_figures.kernels_as_xprof(self.usual().trace)

    def steps(self) -> Checked:
        """Against a clock, and against xprof."""
        yield from gpu_figures.steps_as_clocked(self.usual().trace, self.usual().ended_s)
        yield from gpu_figures.device_as_xprof(self.usual().trace)

    def split(self) -> Checked:
        """Of steps that were not captured, against those that were."""
        yield from gpu_figures.split_as_traced(self.usual().trace, self.usual().found)

    def idle(self) -> Checked:
        """Against sleeps."""
        sleeps, size = Sleeps(SLEPT_S), (self._width // 4, self._rows // 4)
        awake, asleep = captured(Training(*size)), captured(Training(*size), [sleeps])
        yield from gpu_figures.idle_as_slept(awake.trace, asleep.trace, sleeps.slept_ms)

    def products(self) -> Checked:
        """Of the one layer that is as wide on both sides: forward, and of two gradients."""
        # Compiled as one, kernels bear other names than those of the libraries' products.
        apart = {"jit_compile": False} if self._on_tensorflow else {}
        training = Training(self._width, self._width, depth=2, policy="mixed_bfloat16", **apart)
        try:
            each_ms = product_ms(self._width)
        except NoEventsError as why:
            yield f"products: {why}", None
            return
        yield from gpu_figures.products_as_events(captured(training).trace, PRODUCTS, each_ms)

    def long_products(self) -> Checked:
        """The split of steps that hardly do anything else, against CUDA's events."""
        for width in WIDTHS:
            try:
                each_ms = product_ms(width)
            except NoEventsError as why:
                yield f"computing: {why}", None
                return
            if each_ms >= LONG_MS:
                break
        found = captured(Training(width, width, depth=2, policy="mixed_bfloat16")).found
        yield from gpu_figures.split_as_events(found, PRODUCTS, each_ms)

    def overhead(self) -> Checked:
        """Of all callbacks with no capture, and of the sampler alone."""
        training = Training(self._width, self._rows)
        training.step_ms(WATCHED)
        for whose, made in WATCHING.items():
            plain, watched = [], []
            for _ in range(ROUNDS):
                plain.append(training.step_ms(WATCHED))
                with tempfile.TemporaryDirectory() as log_dir:
                    watched.append(training.step_ms(WATCHED, made(log_dir)))
            yield from gpu_figures.overhead_of(whose, plain, watched)

    def advice(self) -> Checked:
        """XLA, half precision and a thread mode on trial, against a clock."""
        if find_spec("tensorflow") is None:
            yield "advice: what is tried is a tf.data pipeline, and TensorFlow is missing", None
            return
        plain = {"jit_compile": False} if self._on_tensorflow else {}
        other = {"mixed-precision": {"policy": "mixed_float16", **plain}}
        if self._on_tensorflow:
            other["enable-xla"] = {"jit_compile": True}
        training = Training(self._width, self._rows, **plain)
        environment_s = TRIED_S if self._on_tensorflow else None
        tried = kp.try_advice(
            training.model, batches(training), budget_s=TRIED_S, environment_s=environment_s
        ).to_frame()
        for name, arguments in other.items():
            changed = Training(self._width, self._rows, **arguments)
            found = Clocked(name, gains(training, changed))
            yield from gpu_figures.gain_as_clocked(interval(tried, name), found)
        if self._on_tensorflow:
            mode = Clocked("gpu-thread-mode", in_their_own_processes(self._width, self._rows))
            yield from gpu_figures.gain_as_clocked(interval(tried, mode.name), mode)

    def predicted(self) -> Checked:
        """What the diagnosis predicts of half precision and twice the rows, against a clock."""
        training, log_dir = Training(self._width, self._rows), tempfile.mkdtemp(dir=TRACES.name)
        training.fit(WATCHED, kp.perf_callbacks(log_dir, profiler=False, summary=False))
        found = {each.id: (each.low, each.high) for each in kp.diagnose(log_dir).recommendations}
        for name, examples, changed in (
            ("mixed-precision", 1, Training(self._width, self._rows, policy="mixed_bfloat16")),
            ("larger-batch", 2, Training(self._width, 2 * self._rows)),
        ):
            if name in found:
                clocked = [examples * gain for gain in gains(training, changed)]
                yield from gpu_figures.gain_as_predicted(found[name], Clocked(name, clocked))
            else:
                yield f"{name}: was not advised", None

    def batch(self) -> Checked:
        """Twice the rows: examples a second by the sweep, against a clock."""
        training = Training(self._width, self._rows)
        sizes = [self._rows, 2 * self._rows]
        data = batches(training) if self._on_tensorflow else training.batch
        found = kp.sweep_batch_size(training.model, data, sizes)
        per_s = found.to_frame().set_index("batch_size")["examples_per_sec"]
        gain = float(per_s[sizes[1]] / per_s[sizes[0]])
        larger = Training(self._width, sizes[1])
        clocked = Clocked("twice the batch", [2 * each for each in gains(training, larger)])
        yield from gpu_figures.gain_as_clocked((gain, gain), clocked)

    def several(self) -> Checked:
        """The template on all GPUs against one, and the exchange in a trace."""
        if self._gpus < 2 or not self._on_tensorflow:
            why = "there is one" if self._gpus < 2 else "the template is one of TensorFlow"
            yield f"several GPUs: {why}", None
            return
        losses = [template_loss(kind, 32 * self._gpus) for kind in ("mirrored", "one-device")]
        yield from gpu_figures.losses_alike(*losses)
        import tensorflow as tf

        with tf.distribute.MirroredStrategy().scope():
            training = Training(self._width, self._rows)
        yield from gpu_figures.exchange_in_step(captured(training).trace)

    def all(self) -> Checks:
        """The comparisons by name."""
        yield "memory", self.memory
        yield "kernels", self.kernels
        yield "steps", self.steps
        yield "split", self.split
        yield "idle", self.idle
        yield "products", self.products
        yield "long products", self.long_products
        yield "overhead", self.overhead
        yield "advice", self.advice
        yield "predicted", self.predicted
        yield "batch", self.batch
        yield "several GPUs", self.several


def captured(training: Training, callbacks: Sequence[keras.callbacks.Callback] = ()) -> Captured:
    """Of a model that was not trained before: its steps are counted from 0."""
    log_dir, waits = tempfile.mkdtemp(dir=TRACES.name), Waits()
    profiler = {"warmup_steps": WARMUP, "active_steps": TRACED}
    ours = kp.perf_callbacks(log_dir, profiler=profiler, summary=False)
    training.fit(STEPS, [*callbacks, waits, *ours])
    return Captured(kp.read_trace(log_dir), kp.diagnose(log_dir), waits.seconds)


def gains(before: Training, after: Training) -> list[float]:
    """How many times as fast a step of the other is, in turns."""
    for each in (before, after):
        each.step_ms(STEPS)
    return [before.step_ms(STEPS) / after.step_ms(STEPS) for _ in range(ROUNDS)]


def batches(training: Training) -> Any:
    """The same batch, by tf.data."""
    import tensorflow as tf

    rows = len(training.batch[0])
    data = tf.data.Dataset.from_tensor_slices(training.batch).batch(rows, drop_remainder=True)
    return data.cache().repeat(STEPS).prefetch(2)


def interval(tried: pd.DataFrame, name: str) -> tuple[float, float] | None:
    """Of a change's gain on trial; None where it was not tried."""
    found = tried[tried["id"] == name]
    return None if found.empty else (float(found["low"].iloc[0]), float(found["high"].iloc[0]))


def in_their_own_processes(width: int, rows: int) -> list[float]:
    """How many times as fast a step is where threads of its own launch a GPU's kernels."""
    script = (
        "from gpu_programs import Training;"
        f"training = Training({width}, {rows}, jit_compile=False); training.step_ms({STEPS});"
        f"print(training.step_ms({STEPS}))"
    )

    def step_ms(**environment: str) -> float:
        command = [sys.executable, "-c", script]
        surroundings = {**os.environ, **environment}
        told = subprocess.check_output(command, cwd=HERE, env=surroundings, text=True)
        return float(told.splitlines()[-1])

    private = {"TF_GPU_THREAD_MODE": "gpu_private"}
    return [step_ms() / step_ms(**private) for _ in range(ROUNDS)]


def template_loss(strategy: str, rows: int, before: str = "") -> float:
    """The last loss in training that the template reaches, without what differs by replica.

    Arguments:
        strategy: as the template's argument has it.
        rows: of a batch.
        before: Python that the program begins with.
    """
    with tempfile.TemporaryDirectory() as folder:
        script, steps = Path(folder, "train.py"), "20"
        subprocess.run([sys.executable, "-m", "keras_perf", "template", script], check=True)
        lines = script.read_text(encoding="utf-8").splitlines()
        alike = [each for each in lines if not OF_A_REPLICA.search(each)]
        script.write_text("\n".join([before, *alike]), encoding="utf-8")
        to = ["--log-dir", Path(folder, "logs"), "--checkpoint-dir", Path(folder, "saved")]
        how = ["--strategy", strategy, "--batch-size", str(rows)]
        until = ["--steps", steps, "--evaluate-every", steps]
        command = [sys.executable, script, *how, *until, *to]
        told = subprocess.check_output(command, text=True)
        return float(re.findall(rf"step {steps} train: .*?loss ([\d.]+)", told)[-1])
