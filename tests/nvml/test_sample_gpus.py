"""sample_gpus on the stand-in library: no framework, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest
from stand_in import CUDA_VARIABLE

import keras_perf as kp
from keras_perf.callbacks import sample_gpus as sampling
from keras_perf.observers.sensors import backoff
from keras_perf.read.fits import fits_of
from keras_perf.records.run.ending import Ending, How
from keras_perf.write.run_writer import RunWriter

GPU_IS_LOST = 15


@pytest.fixture(autouse=True)
def points_often(monkeypatch):
    monkeypatch.setattr(sampling, "POINT_EVERY_S", 0.02)


def wait_for(condition, seconds: float = 20.0) -> None:
    """Until it holds; fails where it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def tags(log_dir) -> set[str]:
    return {tag for tag in kp.load_scalars(log_dir)["tag"].unique() if tag.startswith("gpu/")}


def test_figures_are_written_at_the_steps_of_the_loop(nvml, tmp_path):
    nvml.add("GPU-1")
    nvml.set(energy_mj=0)
    with kp.sample_gpus(tmp_path, interval_s=0.005) as gpus:
        begin = time.monotonic()
        for step in range(1, 6):
            time.sleep(0.04)
            nvml.set(energy_mj=1e6 * (time.monotonic() - begin))  # a kilowatt
            gpus.step = step
    found = kp.load_scalars(tmp_path)
    assert set(found["step"]) <= set(range(1, 6)) | {0}
    utilization = found[found["tag"] == "gpu/0/utilization_pct"]
    assert (utilization["value"] == 90.0).all()
    assert {"gpu/0/energy_per_step_j", "gpu/0/p95_utilization_pct"} <= tags(tmp_path)


def test_steps_before_the_first_that_is_set_took_none_of_the_energy(nvml, tmp_path, monkeypatch):
    told = []

    def take(self, steps, examples_per_step):
        told.append(steps)
        return {}

    monkeypatch.setattr(sampling.GpuHostSampler, "take", take)
    with kp.sample_gpus(tmp_path, interval_s=0.005) as gpus:
        for step in (None, 5000, 5003):
            gpus.step, before = step, len(told)
            wait_for(lambda before=before: len(told) > before + 1)
    assert sum(told) == 3


def test_phases_are_kept_apart(nvml, tmp_path):
    nvml.add("GPU-1")
    with kp.sample_gpus(tmp_path, interval_s=0.002) as gpus:
        time.sleep(0.05)
        gpus.enter("validation")
        nvml.set(utilization=10)
        time.sleep(0.05)
    found = kp.load_scalars(tmp_path).set_index("tag")["value"]
    assert found["gpu/0/validation_utilization_pct"].min() == 10.0
    assert found["gpu/0/utilization_pct"].max() == 90.0


def test_a_phase_that_is_none_is_refused(nvml, tmp_path):
    nvml.add("GPU-1")
    with (
        kp.sample_gpus(tmp_path) as gpus,
        pytest.raises(ValueError, match="'between', got 'test'"),
    ):
        gpus.enter("test")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"log_dir": 3}, TypeError),
        ({"log_dir": "logs\0"}, ValueError),
        ({"log_dir": "logs\udcff"}, ValueError),
        ({"log_dir": "logs", "interval_s": 0}, ValueError),
        ({"log_dir": "logs", "interval_s": "1"}, TypeError),
    ],
)
def test_wrong_arguments_are_refused_before_anything_starts(
    arguments, error, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with (
        pytest.raises(error, match=r"(log_dir|interval_s) must be .*, got"),
        kp.sample_gpus(**arguments),
    ):
        pass


def test_without_a_driver_it_is_said_once_and_the_host_is_sampled(nvml, tmp_path, said):
    nvml.fail("nvmlInitWithFlags", 9)
    with kp.sample_gpus(tmp_path, interval_s=0.01):
        time.sleep(0.7)
    assert len(said()) == 1
    assert "no NVIDIA driver is visible to this process, so CPU and memory are sampled" in said()[0]
    assert tags(tmp_path) == set()
    assert "host/cpu_pct" in set(kp.load_scalars(tmp_path)["tag"])


def test_a_gpu_that_is_lost_is_said_once_and_comes_back(nvml, tmp_path, said, monkeypatch):
    written, write = [], RunWriter.scalars

    def noting(self, step, values, wall_time):
        write(self, step, values, wall_time)
        written.append((step, values.get("gpu/0/utilization_pct")))

    monkeypatch.setattr(RunWriter, "scalars", noting)
    monkeypatch.setattr(backoff, "FIRST_PAUSE_S", 0.01)
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    with kp.sample_gpus(tmp_path, interval_s=0.005) as gpus:
        gpus.step = 1
        time.sleep(0.05)
        nvml.fail("nvmlDeviceGetTemperature", GPU_IS_LOST)
        wait_for(said)
        nvml.heal()
        gpus.step = 2
        nvml.set(utilization=33)
        wait_for(lambda: (2, 33.0) in written)
    assert len(said()) == 1
    assert "stopped answering (GPU is lost)" in said()[0]
    found = kp.load_scalars(tmp_path)
    after = found[(found["tag"] == "gpu/0/utilization_pct") & (found["step"] == 2)]
    assert after["value"].iloc[-1] == 33.0


def test_figures_are_not_written_before_everything_has_started(nvml, tmp_path, said, monkeypatch):
    # Starting NVML takes longer than a point's time, and the first sample comes at once.
    nvml.add("GPU-1")
    monkeypatch.setattr(sampling, "POINT_EVERY_S", 0.0)

    class Slow(sampling.GpuHostSampler):
        def __init__(self, *arguments, **options) -> None:
            super().__init__(*arguments, **options)
            time.sleep(0.05)

    monkeypatch.setattr(sampling, "GpuHostSampler", Slow)
    with kp.sample_gpus(tmp_path, interval_s=0.001):
        time.sleep(0.05)
    assert said() == []
    assert "gpu/0/utilization_pct" in tags(tmp_path)


def test_how_a_loop_has_ended_is_kept(nvml, tmp_path):
    nvml.add("GPU-1")
    with pytest.raises(RuntimeError), kp.sample_gpus(tmp_path / "raises", interval_s=0.01):
        raise RuntimeError("theirs")
    with kp.sample_gpus(tmp_path / "ends", interval_s=0.01):
        pass
    with pytest.raises(SystemExit), kp.sample_gpus(tmp_path / "exits", interval_s=0.01):
        sys.exit(0)
    endings = {"raises": Ending(How.RAISED, "RuntimeError", "theirs")}
    for name in ("raises", "ends", "exits"):
        [[*_, fit]] = fits_of(tmp_path / name).values()
        assert fit.facts.ending == endings.get(name, Ending(How.DONE))


def test_a_loop_that_raises_leaves_nothing_behind(nvml, tmp_path):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)
    with pytest.raises(RuntimeError, match="theirs"), kp.sample_gpus(tmp_path, interval_s=0.01):
        raise RuntimeError("theirs")
    assert (nvml.users, nvml.open_samples) == (0, 0)


def test_a_disk_that_is_full_costs_one_line_and_the_loop_goes_on(nvml, tmp_path, said, monkeypatch):
    nvml.add("GPU-1")

    def full(self, step, values, wall_time):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("keras_perf.write.run_writer.RunWriter.scalars", full)
    with kp.sample_gpus(tmp_path, interval_s=0.005):
        time.sleep(0.1)
    assert len(said()) == 1
    assert "No space left on device" in said()[0]


def test_a_hundred_runs_leave_no_thread_no_handle_and_no_file_open(nvml, tmp_path):
    nvml.add("GPU-1")
    nvml.set(has_gpm=1)

    def run() -> None:
        with kp.sample_gpus(tmp_path, interval_s=0.001):
            pass

    run()
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        run()
    assert (nvml.users, nvml.open_samples) == (0, 0)
    assert not [t for t in threading.enumerate() if t.name.startswith("keras_perf")]
    assert len(os.listdir("/proc/self/fd")) <= files + 1


SCRIPT = """
import sys
sys.modules["tensorflow"] = None
sys.modules["keras"] = None
import os, time, uuid
import keras_perf as kp
from stand_in import StandIn
nvml = StandIn(sys.argv[2])
nvml.add("GPU-" + str(uuid.UUID(os.environ["STAND_IN_CUDA"])))
"""


def script(library, log_dir, body: str) -> subprocess.CompletedProcess[str]:
    """In a Python that finds the stand-ins where it would find NVIDIA's libraries."""
    here = os.path.dirname(__file__)
    environ = os.environ | {"LD_LIBRARY_PATH": str(library.parent), "PYTHONPATH": here}
    environ[CUDA_VARIABLE] = "1f" * 16
    command = [sys.executable, "-c", SCRIPT + body, str(log_dir), str(library)]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=100)


def test_it_runs_where_tensorflow_and_keras_are_not_installed(library, tmp_path):
    done = script(
        library,
        tmp_path,
        """
with kp.sample_gpus(sys.argv[1], interval_s=0.01):
    time.sleep(0.7)
print(nvml.users)
""",
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
    assert "gpu/0/utilization_pct" in tags(tmp_path)


def test_an_interpreter_that_exits_meanwhile_ends_the_thread_first(library, tmp_path):
    done = script(
        library,
        tmp_path,
        """
import atexit
atexit.register(lambda: print(nvml.users))
kept = kp.sample_gpus(sys.argv[1], interval_s=0.001)
kept.__enter__()
time.sleep(0.05)
""",
    )
    assert (done.stdout, done.returncode) == ("0\n", 0)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("children", [8, pytest.param(40, marks=pytest.mark.long)])
def test_a_forked_child_does_no_harm(children, library, tmp_path):
    done = script(
        library,
        tmp_path,
        f"""
with kp.sample_gpus(sys.argv[1], interval_s=0.001):
    for _ in range({children}):
        child = os.fork()
        if not child:
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ", flush=True)
    time.sleep(0.05)
print(nvml.users)
""",
    )
    assert done.stdout.split() == ["7"] * children + ["0"], done.stderr
    assert "gpu/0/utilization_pct" in tags(tmp_path)
