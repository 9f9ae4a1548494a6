"""The comparisons for a training on a real GPU, rehearsed on built traces and on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from built_trace import BuiltPlane, marker, runs, write

import keras_perf as kp
from keras_perf.observation.facts.model_facts import metrics_add_up
from keras_perf.records.run.devices.device_memory import DeviceMemory
from keras_perf.records.run.run_facts import GpuFacts, RunFacts

BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "on_a_gpu"
STEP_MS, SLEPT_MS = 10, 4


@pytest.fixture
def figures(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import gpu_figures

    return gpu_figures


@pytest.fixture
def training(monkeypatch):
    """The program, with a TensorFlow that finds no GPU and a JAX that finds two."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    import gpu_training

    found = {"tensorflow": 0, "jax": 2}
    monkeypatch.setattr(gpu_training, "gpus", found.get)
    monkeypatch.setattr(gpu_training, "find_spec", lambda name: name)
    monkeypatch.setattr(gpu_training.gpu_checks, "first_gpu", lambda: ("NVIDIA H200", "GPU-1"))
    monkeypatch.setattr(sys, "argv", ["gpu_training.py"])
    for name in (*gpu_training.SHARING, "KERAS_BACKEND"):
        # What it sets goes again.
        monkeypatch.setenv(name, "")
    monkeypatch.delenv("KERAS_BACKEND")
    return gpu_training


def test_keras_computes_with_the_first_that_finds_a_gpu(training):
    assert training.choose() == ("jax", 2)
    assert os.environ["KERAS_BACKEND"] == "jax"
    assert os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"


@pytest.mark.parametrize(
    ("asked", "installed", "why"),
    [
        ("tensorflow", True, "tensorflow: it finds no GPU"),
        ("jax", False, "jax: it is not installed"),
        ("torch", True, "torch: keras_perf does not observe it"),
        (None, False, "tensorflow: it is not installed; jax: it is not installed"),
    ],
)
def test_what_is_skipped_is_named_with_the_reason(
    training, monkeypatch, capsys, asked, installed, why
):
    if asked:
        monkeypatch.setenv("KERAS_BACKEND", asked)
    there = {"keras", *(("tensorflow", "jax") if installed else ())}
    monkeypatch.setattr(training, "find_spec", lambda name: name if name in there else None)
    assert training.main() == training.result.NOTHING_TO_MEASURE
    assert capsys.readouterr().out == f"Nothing to train with on the GPU: {why}.\n"


@pytest.fixture
def trace(tmp_path):
    return steps_of(STEP_MS, tmp_path)


def steps_of(ms, folder):
    """Steps that last so long: for 4 ms a matrix product runs, for 1 something else."""
    host, gpu = BuiltPlane("/host:CPU"), BuiltPlane("/device:GPU:0")
    begins = [ms * step for step in range(8)]
    host.line(
        "python",
        *(
            event
            for step, begin in enumerate(begins)
            for event in (marker(step, begin, begin + 6), runs(begin, begin + 5.9))
        ),
    )
    gpu.line(
        "Stream #14(Compute)",
        *(
            (name, begin + first, begin + last, {"kernel_details": "regs:32", "tf_op": operation})
            for begin in begins
            for name, first, last, operation in (
                ("ampere_fp16_s16816gemm_fp16_128x64", 1, 5, "model/dense/MatMul:MatMul"),
                ("relu_kernel", 5, 6, "model/dense/Relu:Relu"),
            )
        ),
    )
    return kp.read_trace(write(folder, host, gpu))


def held(comparison):
    """Whether each line holds."""
    return [holds for _, holds in comparison]


def test_kernels_are_xprofs_but_for_tensor_cores_that_it_does_not_know(figures, trace):
    lines = list(figures.kernels_as_xprof(trace))
    assert lines[0] == ("kernels of 8 steps: 16, xprof 16 in the whole trace", True)
    assert lines[1] == ("time in kernels: 40.00 ms, xprof 40.00 ms", True)
    assert lines[2] == ("on tensor cores: 80.0% of kernels' time, xprof 0.0%", None)


@pytest.mark.parametrize(("step_s", "holds"), [(0.0104, True), (0.009, False), (0.011, False)])
def test_a_step_is_a_clocks(figures, trace, step_s, holds):
    assert held(figures.steps_as_clocked(trace, [step_s * step for step in range(9)])) == [holds]


@pytest.mark.parametrize(("device_ms", "holds"), [(5.1, True), (9.0, False)])
def test_the_devices_part_of_a_step_is_xprofs(figures, trace, monkeypatch, device_ms, holds):
    told = {"stepnum": "train 1", "stepTimeMs": 6.0, "deviceComputeTimeMs": device_ms}
    steps = {
        "cols": [{"id": name} for name in told],
        "rows": [{"c": [{"v": value} for value in told.values()]}],
    }
    monkeypatch.setattr(figures, "xprof_tool", lambda paths, tool: [{"p": {}}, steps])
    assert held(figures.device_as_xprof(trace)) == [holds]


def test_steps_that_xprof_does_not_tell_are_compared_with_nothing(figures, trace):
    assert held(figures.device_as_xprof(trace)) == [None]


@pytest.mark.parametrize(("product_ms", "holds"), [(2.1, True), (3.0, False), (1.5, False)])
def test_the_split_is_held_against_events(figures, product_ms, holds):
    found = SimpleNamespace(breakdown={"compute": 4.0, "dispatch": float("nan")})
    assert held(figures.split_as_events(found, 2, product_ms)) == [holds]


@pytest.mark.parametrize(
    ("step", "compute", "holds"),
    [(10, 6, [True, True]), (12, 6, [False, True]), (10, 2, [True, False])],
)
def test_the_split_is_held_against_the_trace(figures, trace, step, compute, holds):
    found = SimpleNamespace(
        breakdown={"step": step, "compute": compute, "dispatch": float("nan")},
    )
    assert held(figures.split_as_traced(trace, found)) == holds


@pytest.mark.parametrize(("slept_ms", "holds"), [(SLEPT_MS, True), (8, False), (1, False)])
def test_idle_time_grows_by_what_was_slept(figures, tmp_path, slept_ms, holds):
    awake, asleep = (steps_of(ms, tmp_path) for ms in (STEP_MS, STEP_MS + SLEPT_MS))
    assert held(figures.idle_as_slept(awake, asleep, [slept_ms] * 8)) == [holds]


@pytest.mark.parametrize(("product_ms", "holds"), [(2.1, True), (3.0, False)])
def test_products_are_held_against_events(figures, trace, product_ms, holds):
    assert held(figures.products_as_events(trace, 2, product_ms)) == [holds]


@pytest.mark.parametrize(
    ("peak_mib", "limit_mib", "holds"),
    [(150, 1000, True), (50, 1000, False), (900, 1000, False), (150, 120, False)],
)
def test_the_peak_holds_what_a_step_keeps_and_not_much_more(figures, peak_mib, limit_mib, holds):
    memory = DeviceMemory("GPU:0", current_mib=10.0, peak_mib=peak_mib, limit_mib=limit_mib)
    facts = RunFacts(gpu=GpuFacts(device_memory=(memory,)))
    assert held(figures.peak_as_counted(facts, 100.0)) == [holds]
    assert held(figures.peak_as_counted(RunFacts(), 100.0)) == [False]


@pytest.mark.parametrize(
    ("watched_ms", "holds"),
    [([10.05, 10.12, 9.95], True), ([10.4, 10.5, 10.3], False), ([9.9, 10.3, 9.9], None)],
)
def test_an_overhead_is_small_or_not_or_within_the_noise(figures, watched_ms, holds):
    assert held(figures.overhead_of("all", [10.0, 10.1, 9.9], watched_ms)) == [holds]


def test_a_figure_that_is_wrong_makes_all_wrong(figures):
    import gpu_checks
    import numpy as np

    def comparison(holds):
        yield "a line", holds

    for holds, good in ((np.True_, True), (None, True), (np.False_, False), (False, False)):
        lines = []
        assert gpu_checks.check([("one", lambda h=holds: comparison(h))], lines.append) == good
        assert lines == [f"{gpu_checks.MARKS[holds]} a line"]


def test_a_gain_on_trial_is_held_against_a_clock(figures):
    clocked = figures.Clocked("enable-xla", [1.4, 1.5, 1.6])
    assert held(figures.gain_as_clocked((1.3, 1.45), clocked)) == [True]
    assert held(figures.gain_as_clocked((1.8, 2.0), clocked)) == [False]
    assert held(figures.gain_as_clocked(None, clocked)) == [None]
    [(line, holds)] = figures.gain_as_predicted((1.3, 1.45), clocked)
    assert (line, holds) == ("enable-xla: 1.30 to 1.45× predicted, 1.50× by the clock", True)


def test_several_gpus_reach_the_same_loss_and_exchange(figures, trace):
    assert held(figures.losses_alike(0.5, 0.5001)) == [True]
    assert held(figures.losses_alike(0.5, 0.51)) == [False]
    assert held(figures.exchange_in_step(trace)) == [False, None]


@pytest.mark.parametrize(
    ("by_xprof_ms", "holds"), [(2.0, [True, True]), (3.0, [True, False]), (0.0, [True, None])]
)
def test_the_exchange_is_held_against_xprofs_collectives(
    figures, tmp_path, monkeypatch, by_xprof_ms, holds
):
    """Two GPUs compute for 4 ms of a step, and their collective runs for 2."""
    host = BuiltPlane("/host:CPU").line("python", marker(0, 0, 10), marker(1, 12, 22))
    gpus = [
        BuiltPlane(f"/device:GPU:{number}")
        .line("Stream #1(Compute)", *(("nvjet_hsh", b, b + 4, {}) for b in (1, 13)))
        .line("Stream #2(Nccl)", *(("ncclDevKernel_AllReduce", b, b + 2, {}) for b in (5, 17)))
        for number in range(2)
    ]
    monkeypatch.setattr(figures, "by_xprof", lambda trace, name: by_xprof_ms)
    found = kp.read_trace(write(tmp_path, host, *gpus))
    assert held(figures.exchange_in_step(found)) == holds


def test_a_trace_without_kernels_is_no_trace_of_a_gpu(figures, tmp_path):
    host = BuiltPlane("/host:CPU").line("python", marker(0, 0, 5), marker(1, 6, 9))
    with pytest.raises(RuntimeError, match="holds no kernels"):
        held(figures.kernels_as_xprof(kp.read_trace(write(tmp_path, host))))


REHEARSED = """
import json, sys
import gpu_comparisons
from gpu_checks import check
gpu_comparisons.ROUNDS, gpu_comparisons.TRIED_S, gpu_comparisons.SLEPT_S = 1, 2.0, 0.002
gpu_comparisons.STEPS = gpu_comparisons.WATCHED = 45
lines = []
good = check(gpu_comparisons.Bench(1, 64, 16).all(), lines.append)
print(json.dumps(lines))
"""


@pytest.mark.whole
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_all_comparisons_are_made_where_the_cpu_stands_in_for_a_gpu(backend):
    pytest.importorskip(backend)
    done = subprocess.run(
        [sys.executable, "-c", REHEARSED],
        cwd=BENCHMARKS,
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = json.loads(done.stdout.splitlines()[-1])
    failed = {line for line in lines if line.startswith("FAILED")}
    # These are about a GPU's own part.
    names = ("kernels", "steps", "split", "idle")
    assert failed == {f"FAILED {n}: RuntimeError('the trace holds no kernels')" for n in names}
    told = "\n".join(lines)
    assert "WRONG memory: this framework tells none of the GPU" in told
    no_events = "PyTorch, by whose CUDA events one is timed, "
    assert f"skip  products: {no_events}" in told
    assert f"skip  computing: {no_events}" in told
    assert "all callbacks: " in told
    assert "GPUUtilizationSampler: " in told
    assert "mixed-precision: " in told
    assert ("gpu-thread-mode: was not tried" in told) == (backend == "tensorflow")
    assert "skip  larger-batch: was not advised" in told
    assert "twice the batch: " in told
    assert "skip  several GPUs: there is one" in told


RECORDED = """
import sys
import gpu_checks, gpu_traces
gpu_checks.first_gpu = lambda: ("none", "")
gpu_traces.choose = lambda: (sys.argv[2], 1)
sys.exit(gpu_traces.main())
"""


@pytest.mark.whole
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_traces_are_recorded_with_what_else_is_known_of_their_steps(backend, tmp_path):
    pytest.importorskip(backend)
    subprocess.run(
        [sys.executable, "-c", RECORDED, tmp_path, backend],
        cwd=BENCHMARKS,
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        timeout=120,
        check=True,
    )
    about = json.loads((tmp_path / f"{backend}.json").read_text(encoding="utf-8"))
    assert [len(each["ended_s"]) for each in about["traces"].values()] == [40, 40]
    assert [len(each["slept_ms"]) for each in about["traces"].values()] == [0, 40]
    files = sorted(path.name for path in tmp_path.glob("*.gz"))
    assert files == [f"{backend}-{name}.xplane.pb.gz" for name in ("computing", "sleeping")]


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ("echo finds no GPU", "PyTorch, by whose CUDA events one is timed, finds no GPU"),
        (None, "PyTorch, by whose CUDA events one is timed, is not installed"),
    ],
)
@pytest.mark.usefixtures("figures")
def test_a_pytorch_elsewhere_times_a_product_or_says_why_not(answers, why, tmp_path, monkeypatch):
    import gpu_loads

    python = tmp_path / "python"
    monkeypatch.setenv("PYTORCH_PYTHON", str(python))
    if answers:
        python.write_text(f"#!/bin/sh\n{answers}\n")
        python.chmod(0o755)
    with pytest.raises(gpu_loads.NoEventsError, match=why):
        gpu_loads.product_ms(64)


@pytest.mark.usefixtures("figures")
def test_a_pytorch_that_fails_is_no_missing_one(tmp_path, monkeypatch):
    import gpu_loads

    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 1.25\n")
    python.chmod(0o755)
    monkeypatch.setenv("PYTORCH_PYTHON", str(python))
    assert gpu_loads.product_ms(64) == 1.25
    python.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(subprocess.CalledProcessError):
        gpu_loads.product_ms(64)


TWO_CPUS = """
import tensorflow as tf
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
"""


SEVERAL = """
import json
import gpu_comparisons
from gpu_checks import check
cpus = [each.name for each in tf.config.list_logical_devices("CPU")]
mirrored, template_loss = tf.distribute.MirroredStrategy, gpu_comparisons.template_loss
tf.distribute.MirroredStrategy = lambda: mirrored(cpus)
gpu_comparisons.template_loss = lambda kind, rows: template_loss(kind, rows, before=sys.argv[1])
bench, lines = gpu_comparisons.Bench(2, 64, 16), []
check([("several GPUs", bench.several)], lines.append)
print(json.dumps(lines))
"""


@pytest.mark.skipif(not metrics_add_up(), reason="with this Keras, several replicas are refused")
@pytest.mark.whole
def test_several_gpus_are_compared_where_two_cpus_stand_in():
    """The loss is that of one device; a trace of CPUs holds no exchange."""
    program = "import sys\nsys.path.insert(0, '')" + TWO_CPUS + SEVERAL
    done = subprocess.run(
        [sys.executable, "-c", program, TWO_CPUS],
        cwd=BENCHMARKS,
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loss, exchange, collectives = json.loads(done.stdout.splitlines()[-1])
    assert loss.startswith("ok    the template's loss: ")
    assert exchange.startswith("WRONG exchange: 0.000 of ")
    assert collectives == "skip  collectives: xprof tells none"
