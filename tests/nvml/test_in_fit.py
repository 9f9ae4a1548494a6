"""GPUUtilizationSampler in `fit`, down to the stand-in library."""

from __future__ import annotations

import threading
import time

import keras
import numpy as np
import pytest

import keras_perf as kp
from keras_perf.backends.on_tensorflow import OnTensorFlow
from keras_perf.observers.nvml.cuda_order import Seen

GPU_IS_LOST = 15
X = np.zeros((64, 4), "float32")


@pytest.fixture
def model():
    found = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    found.compile("sgd", "mse")
    return found


@pytest.fixture
def two(nvml, monkeypatch):
    """Two GPUs with GPM, both of which TensorFlow uses."""
    for uuid in ("GPU-1", "GPU-2"):
        nvml.set(nvml.add(uuid), has_gpm=1)
    monkeypatch.setattr(OnTensorFlow, "gpus", lambda _: Seen(2, (0, 1)))
    return nvml


def fit(model, sampler, *callbacks, steps=64, **options) -> None:
    x = X[:steps]
    model.fit(x, x[:, :1], batch_size=1, verbose=0, callbacks=[sampler, *callbacks], **options)


def test_a_fit_is_sampled_and_gives_nvml_back(two, model, tmp_path, monkeypatch):
    monkeypatch.setattr(OnTensorFlow, "gpus", lambda _: Seen(2, (1,)))
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.01)
    for _ in range(5):
        fit(model, sampler)
        assert (two.users, two.open_samples) == (0, 0)
    found = kp.load_scalars(tmp_path)
    gpus = {tag.split("/")[1] for tag in found["tag"].unique() if tag.startswith("gpu/")}
    assert gpus == {"0"}
    assert "gpu/0/sm_active_pct" in set(found["tag"])
    assert (found[found["tag"] == "gpu/0/sm_active_pct"]["value"] == 2.0).all()
    assert kp.diagnose(tmp_path).summary.facts.to_json()["gpus"] == {"gpu/0": "NVIDIA H200 GPU-2"}


def test_gpus_that_the_training_does_not_use_are_logged_and_judge_nothing(
    nvml, model, tmp_path, caplog
):
    nvml.add("GPU-1")
    fit(model, kp.GPUUtilizationSampler(tmp_path, interval_s=0.01), kp.StepGapDetector(tmp_path))
    found = kp.load_scalars(tmp_path)
    assert (found[found["tag"] == "gpu/0/utilization_pct"]["value"] == 90.0).all()
    assert "gpu/0/utilization_pct" in set(found["tag"])
    summary = kp.diagnose(tmp_path).summary
    assert summary.facts.gpu.gpus_unused
    assert not [tag for tag in summary.sensors if tag.startswith("gpu/")]
    assert [line for line in caplog.messages if "uses no GPU" in line]


class At(keras.callbacks.Callback):
    """Does something in a step, and makes steps take a while."""

    def __init__(self, step: int, work) -> None:
        super().__init__()
        self.step, self.work = step, work

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.005)
        if batch == self.step:
            self.work()


def test_a_gpu_lost_in_a_fit_is_named_and_the_other_is_sampled_to_the_end(
    two, model, tmp_path, said
):
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.005)

    def lose() -> None:
        two.fail("*", GPU_IS_LOST, device=0)
        two.set(1, utilization=33)

    fit(model, sampler, kp.StepGapDetector(tmp_path), At(20, lose), epochs=2)
    assert len([line for line in said() if "GPU is lost" in line]) == 1
    assert "for gpu/0 NVIDIA H200 GPU-1;" in said()[0]
    found = kp.load_scalars(tmp_path)
    last = (
        found[found["tag"].str.endswith("/max_utilization_pct")]
        .groupby("tag", observed=True)
        .last()
    )
    assert last.loc["gpu/0/max_utilization_pct", "value"] == 90.0
    assert last.loc["gpu/1/max_utilization_pct", "value"] == 33.0
    assert last.loc["gpu/1/max_utilization_pct", "step"] == found["step"].max() == 128
    assert last.loc["gpu/0/max_utilization_pct", "step"] < 128
    assert (two.users, two.open_samples) == (0, 0)


def test_a_fit_that_raises_ends_the_thread_and_gives_nvml_back(two, model, tmp_path):
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.001)

    def fail() -> None:
        raise RuntimeError("theirs")

    with pytest.raises(RuntimeError, match="theirs"):
        fit(model, sampler, At(10, fail))
    assert (two.users, two.open_samples) == (0, 0)
    assert not [t for t in threading.enumerate() if t.name.startswith("keras_perf")]


@pytest.mark.parametrize("fits", [8, pytest.param(100, marks=pytest.mark.long)])
def test_many_fits_leave_no_thread_and_no_nvml_handle(fits, two, model, tmp_path):
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.001)
    for _ in range(fits):
        fit(model, sampler, steps=2)
    assert (two.users, two.open_samples) == (0, 0)
    assert not [t for t in threading.enumerate() if t.name.startswith("keras_perf")]


def test_throttling_and_persistence_mode_are_in_the_diagnosis(two, model, tmp_path):
    two.set(0, reasons=0x20)
    two.set(1, persistence=0)
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.005)
    fit(model, sampler, kp.StepGapDetector(tmp_path), At(0, lambda: None))
    told = str(kp.diagnose(tmp_path))
    assert "GPU 0 ran with lowered clocks for 100% of the time against heat" in told
    assert "Persistence mode of GPU 1 is off" in told
    assert "Persistence mode of GPU 0" not in told
