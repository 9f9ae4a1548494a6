"""GPUUtilizationSampler in `fit`, down to the stand-in library."""

from __future__ import annotations

import keras
import numpy as np

import keras_perf as kp
from keras_perf.callbacks import gpu
from keras_perf.observers.cuda_devices import Seen


def test_a_fit_is_sampled_and_gives_nvml_back(nvml, tmp_path, monkeypatch):
    for uuid in ("GPU-1", "GPU-2"):
        nvml.set(nvml.add(uuid), has_gpm=1)
    monkeypatch.setattr(gpu, "tensorflow_gpus", lambda: Seen(("NVIDIA H200",) * 2, (1,)))
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.01)
    x = np.zeros((64, 4), "float32")
    for _ in range(5):
        model.fit(x, x[:, :1], batch_size=1, verbose=0, callbacks=[sampler])
        assert (nvml.users, nvml.open_samples) == (0, 0)
    found = kp.load_scalars(tmp_path)
    gpus = {tag.split("/")[1] for tag in found["tag"].unique() if tag.startswith("gpu/")}
    assert gpus == {"0"}
    assert (found[found["tag"] == "gpu/0/sm_active_pct"]["value"] == 2.0).all()
    assert kp.diagnose(tmp_path).summary.context["gpus"] == {"gpu/0": "NVIDIA H200 GPU-2"}
