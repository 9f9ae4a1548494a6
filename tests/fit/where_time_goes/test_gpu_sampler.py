"""GPUUtilizationSampler in a real `fit`, on a scripted GPU."""

from __future__ import annotations

import pickle
import threading
import time

import keras
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.summary import summarize
from keras_perf.backends import on_tensorflow
from keras_perf.observers import gpu_and_host
from keras_perf.observers.nvml.cuda_order import Seen
from keras_perf.observers.sensors.sensor import AbsentError, SensorError
from keras_perf.read.fits import fits_of
from keras_perf.records.phase import Phase


class ScriptedGpu:
    """At 90% and 200 W; raises what is in `failing`."""

    doubt, unused = "", False
    failing: str | None = None
    busy = 90.0
    seen: Seen | None = None
    opened = closed = 0

    def __init__(self, warn, seen) -> None:
        type(self).seen = seen
        type(self).opened += 1
        if self.failing:
            raise SensorError(self.failing)

    def describe(self):
        return {"gpu/0": "NVIDIA H200 GPU-1"}

    def unsupported(self):
        return {"gpu/0": ["nvlink_sent_mib_per_sec"]}

    def persistence(self):
        return {"gpu/0": True}

    def memory_total_mib(self):
        return 1000.0

    def read(self):
        if self.failing:
            raise SensorError(self.failing)
        return {"gpu/0/utilization_pct": self.busy, "gpu/0/mean_power_w": 200.0}

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture
def scripted(monkeypatch):
    kind = type("Scripted", (ScriptedGpu,), {})
    monkeypatch.setattr(gpu_and_host, "NvmlReader", kind)
    return kind


class Slow(keras.callbacks.Callback):
    """Steps of a few milliseconds."""

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.004)


def fit(log_dir, *callbacks, first=None, **arguments):
    ours = [kp.GPUUtilizationSampler(log_dir, interval_s=0.01), kp.StepGapDetector(log_dir)]
    options = {"verbose": 0, "shuffle": False} | arguments
    programs.model().fit(
        programs.dataset(300), callbacks=[first or Slow(), *ours, *callbacks], **options
    )
    return kp.load_scalars(log_dir)


def test_means_are_of_the_whole_training_though_another_callback_times_its_steps(
    scripted, tmp_path
):
    """Its point of an interval is a step behind the sampler's."""

    class Rests(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            time.sleep(0.004)
            scripted.busy = 90.0 if batch < 400 else 10.0

    gpu, gaps = kp.GPUUtilizationSampler(tmp_path, interval_s=0.01), kp.StepGapDetector(tmp_path)
    data = programs.dataset(500)
    programs.model().fit(data, verbose=0, shuffle=False, callbacks=[Rests(), gpu, gaps])
    [[*_, fit]] = fits_of(tmp_path).values()
    assert 50 < summarize(fit.scalars, fit.facts).sensors["gpu/0/utilization_pct"] < 90


class Saves(keras.callbacks.Callback):
    """At an epoch's end, before the sampler's own hook; keeps which phase that was."""

    def __init__(self, entered) -> None:
        super().__init__()
        self.entered, self.phases = entered, []

    def on_epoch_end(self, epoch, logs=None):
        self.phases.append(self.entered[-1])


@pytest.mark.parametrize("validates", [False, True])
def test_what_other_callbacks_do_at_an_epoch_s_end_is_no_training(
    scripted, tmp_path, monkeypatch, validates
):
    entered, enter = [], gpu_and_host.GpuHostSampler.enter
    monkeypatch.setattr(
        gpu_and_host.GpuHostSampler,
        "enter",
        lambda s, phase: (entered.append(phase), enter(s, phase)),
    )
    saves = Saves(entered)
    fit(tmp_path, epochs=2, validation_data=programs.dataset(3) if validates else None, first=saves)
    assert saves.phases == [Phase.BETWEEN] * 2


def test_figures_stand_at_the_steps_of_training(scripted, tmp_path):
    found = fit(tmp_path)
    busy = found[found["tag"] == "gpu/0/utilization_pct"]
    assert (busy["value"] == 90.0).all()
    points = found[found["tag"] == "perf/step_time_ms"]
    # The execution before the point is complete for the sensors, and not yet for the split.
    assert set(points["step"]) <= set(busy["step"]) | set(busy["step"] - 1)
    assert busy["step"].max() == 300


def test_on_a_machine_without_a_gpu_the_host_is_sampled_without_a_warning(
    monkeypatch, tmp_path, said
):
    def no_driver(warn, seen):
        raise AbsentError("no NVIDIA driver is visible to this process")

    monkeypatch.setattr(gpu_and_host, "NvmlReader", no_driver)
    assert "host/cpu_pct" in set(fit(tmp_path)["tag"])
    assert said() == []


def test_energy_is_power_times_the_time_of_training(scripted, tmp_path):
    found = fit(tmp_path)
    joules = found[found["tag"] == "gpu/0/energy_j"].set_index("step")
    spent_s = joules["wall_time"].iloc[-1] - joules["wall_time"].iloc[0]
    assert joules["value"].iloc[1:].sum() == pytest.approx(200.0 * spent_s, rel=0.1)
    whole = found.pivot_table(index="step", columns="tag", values="value", observed=True)
    per_step = whole["gpu/0/energy_per_step_j"].dropna()
    assert len(per_step) == len(joules)
    steps = joules.index.to_series().diff().fillna(joules.index[0])
    assert (per_step * steps).to_numpy() == pytest.approx(joules["value"].to_numpy(), rel=1e-4)
    each = whole.dropna(subset=["gpu/0/energy_per_example_j"])
    assert len(each)
    assert (each["gpu/0/energy_per_example_j"] * 8).to_numpy() == pytest.approx(
        each["gpu/0/energy_per_step_j"].to_numpy(), rel=1e-4
    )


def test_a_checkpoint_that_is_restored_after_us_was_trained_without_this_energy(scripted, tmp_path):
    class Restores(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.model.optimizer.iterations.assign(10_000)

    found = fit(tmp_path, Restores())
    wide = found.pivot_table(index="step", columns="tag", values="value", observed=True)
    first = wide.dropna(subset=["gpu/0/energy_per_step_j"]).iloc[0]
    steps = first["gpu/0/energy_j"] / first["gpu/0/energy_per_step_j"]
    assert steps == pytest.approx(first.name - 10_000, rel=1e-4)


def test_validation_is_not_training(scripted, tmp_path):
    class Idle(keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            scripted.busy = 5.0

        def on_test_batch_end(self, batch, logs=None):
            time.sleep(0.02)

        def on_test_end(self, logs=None):
            scripted.busy = 90.0

    found = fit(tmp_path, Idle(), validation_data=programs.dataset(10)).set_index("tag")["value"]
    assert found["gpu/0/validation_utilization_pct"].min() < 20.0
    assert found["gpu/0/utilization_pct"].mean() > 80.0


def test_the_runs_text_says_which_gpu_it_is_and_what_it_does_not_tell(
    scripted, tmp_path, monkeypatch
):
    texts = []
    monkeypatch.setattr(
        "keras_perf.write.run_writer.RunWriter.text", lambda self, *words: texts.append(words)
    )
    fit(tmp_path)
    [(_, tag, table)] = [words for words in texts if words[1] == "perf/gpus"]
    assert tag == "perf/gpus"
    assert "| gpu/0 | NVIDIA H200 GPU-1 | nvlink_sent_mib_per_sec |" in table
    assert kp.diagnose(tmp_path).summary.facts.to_json()["gpus"] == {"gpu/0": "NVIDIA H200 GPU-1"}


def test_a_line_per_epoch_on_request(scripted, tmp_path, capsys):
    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.01, epoch_line=True)
    programs.model().fit(
        programs.dataset(300), epochs=2, verbose=0, shuffle=False, callbacks=[Slow(), sampler]
    )
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Epoch")]
    assert len(lines) == 2
    assert lines[1].startswith("Epoch 2: GPU 0: utilization 90%, 200 W, ")


def test_what_tensorflow_trains_on_is_passed_on(scripted, tmp_path, monkeypatch):
    gpus = [tf.config.PhysicalDevice(f"/physical_device:GPU:{i}", "GPU") for i in range(3)]
    monkeypatch.setattr(on_tensorflow.tf.config, "list_physical_devices", lambda kind: gpus)
    monkeypatch.setattr(on_tensorflow.tf.config, "get_visible_devices", lambda kind: gpus[2:0:-1])
    assert on_tensorflow.OnTensorFlow(int).gpus() == Seen(3, (2, 1))


def test_a_gpu_that_fails_in_the_middle_costs_one_line_and_its_values(scripted, tmp_path, said):
    class Breaks(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            # Half a second and more of sleep is before and behind it: several points.
            if batch == 150:
                scripted.failing = "NVML stopped answering (GPU is lost)"

    found = fit(tmp_path, Breaks())
    assert len([line for line in said() if "GPU is lost" in line]) == 1
    assert found["step"].max() == 300
    values = found[found["tag"] == "gpu/0/utilization_pct"]
    assert len(values)
    assert values["step"].max() < 300
    assert (values["value"] == 90.0).all()


def test_many_fits_leave_no_thread_and_no_sensor_open(scripted, tmp_path):
    network, data = programs.model(), programs.dataset(2)
    sampler = kp.GPUUtilizationSampler(tmp_path)
    for _ in range(25):
        network.fit(data, verbose=0, shuffle=False, callbacks=[sampler])
    assert scripted.opened == scripted.closed == 25
    assert not [t for t in threading.enumerate() if t.name.startswith("keras_perf")]


def test_it_can_be_pickled_while_it_samples(scripted, tmp_path):
    copies = []

    class Pickles(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 5:
                sampler.set_model(None)
                copies.append(pickle.loads(pickle.dumps(sampler)))
                sampler.set_model(self.model)

    sampler = kp.GPUUtilizationSampler(tmp_path, interval_s=0.01)
    programs.model().fit(
        programs.dataset(), verbose=0, shuffle=False, callbacks=[sampler, Pickles()]
    )
    assert copies[0].interval_s == 0.01
    assert copies[0].observation is None


def test_epoch_line_must_be_a_bool(tmp_path):
    with pytest.raises(TypeError, match="epoch_line must be True or False, got int 1"):
        kp.GPUUtilizationSampler(tmp_path, epoch_line=1)


@pytest.mark.parametrize(
    ("mid_epoch", "phase"),
    [(True, Phase.TRAINING), (False, Phase.BETWEEN), (None, Phase.BETWEEN)],
)
def test_behind_an_evaluate_of_a_batch_hook_it_is_training_again(mid_epoch, phase, tmp_path):
    class Observed:
        pass

    sampler, told = kp.GPUUtilizationSampler(tmp_path), []
    if mid_epoch is not None:
        sampler.observation = Observed()
        sampler.observation.mid_epoch = mid_epoch
    sampler.phase_begins = told.append
    sampler.on_test_end()
    assert told == [phase]
