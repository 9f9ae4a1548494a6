"""Traces of a real GPU, which gpu_traces.py recorded, against what else is known of them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import keras_perf as kp
from keras_perf.trace.step_frame import complete_steps

COMPARISONS = Path(__file__).parents[3] / "benchmarks" / "on_a_gpu"
FOLDER = Path(__file__).with_name("of_an_h200")
BACKENDS = "tensorflow", "jax"
KERNELS = {
    ("tensorflow", "computing"): 28,
    ("tensorflow", "sleeping"): 31,
    ("jax", "computing"): 31,
    ("jax", "sleeping"): 38,
}
"""Of a step, counted by hand on the line of the stream that computes."""


@pytest.fixture(params=KERNELS, ids="-".join)
def recorded(request, tmp_path):
    """The trace, and what the program itself knew of its steps."""
    backend, name = request.param
    path = tmp_path / "plugins/profile/2026_11_27_15_39_00/vm.xplane.pb"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.decompress((FOLDER / f"{backend}-{name}.xplane.pb.gz").read_bytes()))
    about = json.loads((FOLDER / f"{backend}.json").read_text(encoding="utf-8"))
    return request.param, kp.read_trace(tmp_path), about["traces"][name]


def test_its_steps_are_those_that_were_marked(recorded):
    _, trace, _ = recorded
    assert trace.steps_from == "markers"
    assert trace.to_frame()["step"].tolist() == [20, 21, 22, 23]


def test_a_step_is_as_long_as_a_clock_in_a_hook_tells(recorded):
    _, trace, known = recorded
    # Before the first one the clock counts the profiler's start, too.
    traced = complete_steps(trace.to_frame()).iloc[1:]
    clocked = 1e3 * np.diff(known["ended_s"])[traced["step"].astype(int) - 1]
    assert traced["step_ms"].to_numpy() == pytest.approx(clocked, rel=0.03)


def test_what_make_test_gpu_compares_holds_of_it(recorded, monkeypatch):
    monkeypatch.syspath_prepend(COMPARISONS)
    import gpu_figures

    program, trace, known = recorded
    lines = [
        *gpu_figures.steps_as_clocked(trace, known["ended_s"]),
        *gpu_figures.device_as_xprof(trace),
        *gpu_figures.kernels_as_xprof(trace),
    ]
    *holds, of_tensor_cores = [held for _, held in lines]
    assert len(holds) == 4
    assert all(holds), lines
    # Of the others xprof knows no kernel that uses them.
    assert of_tensor_cores == (True if program == ("tensorflow", "computing") else None), lines


def test_each_step_runs_the_same_kernels(recorded):
    program, trace, _ = recorded
    # What a GPU had not done yet when the capture ended is missing in the last step.
    assert complete_steps(trace.to_frame())["kernels"].tolist() == [KERNELS[program]] * 3


def test_the_time_in_kernels_is_xprofs(recorded):
    program, trace, _ = recorded
    theirs, frame = trace.kernels(), trace.to_frame()
    assert theirs["occurrences"].sum() == 4 * KERNELS[program]
    ours = 1e3 * (frame["kernels"] * frame["kernel_mean_ms"]).sum()
    # Kernels that ran when the last step had ended lie in none.
    late = 4 * KERNELS[program] - frame["kernels"].sum()
    longest = theirs["max_duration_us"].max()
    assert ours == pytest.approx(theirs["total_duration_us"].sum(), abs=late * longest + 0.01)


def test_a_step_is_what_the_device_does_and_its_idle_time(recorded):
    _, trace, _ = recorded
    frame = complete_steps(trace.to_frame())
    idle = frame["device_idle_in_step_ms"] + frame["device_idle_between_steps_ms"]
    busy = frame[["kernel_ms", "copy_to_device_ms", "copy_to_host_ms"]].sum(axis=1)
    left = frame["step_ms"] - idle - busy
    # Copies within the device are counted nowhere, and copies may run beside kernels.
    assert (left.abs() < 0.01).all()
    assert (frame["kernel_launch_delay_ms"] > 0).all()
    assert (frame["waits_for_launch_ms"] <= idle).all()


@pytest.mark.parametrize("recorded", [(b, "sleeping") for b in BACKENDS], indirect=True)
def test_while_a_hook_sleeps_the_device_is_idle_between_the_steps(recorded):
    _, trace, known = recorded
    frame = complete_steps(trace.to_frame())
    slept = np.array(known["slept_ms"])[frame["step"].astype(int)]
    assert (frame["device_idle_between_steps_ms"].to_numpy() >= slept).all()
    assert (frame["gap_ms"].to_numpy() >= slept).all()


def test_products_of_matrices_are_told_by_xlas_names_in_a_cuda_graph_too(recorded):
    _, trace, _ = recorded
    assert 30 < trace.means["tensor_core_eligible_pct"] < 70


@pytest.mark.parametrize("backend", BACKENDS)
def test_gpu_driver_versions_and_day_are_kept_beside_it(backend):
    about = json.loads((FOLDER / f"{backend}.json").read_text(encoding="utf-8"))
    assert {"gpu", "driver", "date", "versions"} <= set(about)
    assert {"keras", backend} <= set(about["versions"])
