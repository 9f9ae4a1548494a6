"""What cannot be asked in a `fit` costs its own value, and nothing else."""

import keras
import programs
import psutil
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.of_fit.fit import FitObservation


def fails(*_):
    raise OSError("not here")


def observed(network, callbacks, batches=60):
    network.fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)


def the_one_note(log_dir, name):
    [note] = [n for n in kp.diagnose(log_dir).notes if n.startswith("Unknown, so advice")]
    assert name in note


class OddLayer(keras.layers.Dense):
    """Calls something else than layers `layers`, and raises where it is asked for its units."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.layers = 3
        self.armed = False

    def __getattribute__(self, name):
        if name == "units" and object.__getattribute__(self, "__dict__").get("armed"):
            raise RuntimeError("no units")
        return super().__getattribute__(name)


def odd_model(*, armed):
    network = keras.Sequential([keras.layers.Input((8,)), OddLayer(16), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=False)
    network.layers[0].armed = armed
    return network


@pytest.mark.fault(2, "a layer with a number for `layers`")
def test_a_layer_with_a_number_for_layers_is_passed_over(tmp_path, said):
    observed(odd_model(armed=False), [kp.StepGapDetector(tmp_path)])
    assert kp.diagnose(tmp_path).summary.facts.to_json()["layer_widths"] == [1, 16]
    assert said() == []


@pytest.mark.fault(2, "a layer whose property raises")
def test_a_layer_that_raises_costs_the_widths_only(tmp_path, said):
    observed(odd_model(armed=True), [kp.StepGapDetector(tmp_path)])
    context = kp.diagnose(tmp_path).summary.facts.to_json()
    assert context["not_known"] == {"layer_widths": "RuntimeError: no units"}
    assert "layer_widths" not in context
    assert context["parameters"] == 161
    [line] = said()
    assert line.startswith("keras_perf: unknown about this training: layer_widths (RuntimeError")
    the_one_note(tmp_path, "layer_widths")


FACTS = {
    "memory_available_mib": (psutil, "virtual_memory", fails),
    "training_gpus": (tf.config, "get_visible_devices", fails),
    "parameters": (keras.Model, "count_params", fails),
    "threads": (tf.config.threading, "get_intra_op_parallelism_threads", fails),
    "batch_hooks": (FitObservation, "batch_hooks", property(fails)),
    "function_replacements": (FitObservation, "replacements", property(fails, lambda *_: None)),
}


@pytest.mark.fault(2, "psutil, the model or a setting that raises when asked")
@pytest.mark.parametrize("name", FACTS)
def test_a_fact_that_cannot_be_asked_is_absent_and_named_once(name, tmp_path, said, monkeypatch):
    owner, attribute, broken = FACTS[name]
    monkeypatch.setattr(owner, attribute, broken, raising=False)
    observed(programs.model(), [kp.StepGapDetector(tmp_path)])
    monkeypatch.undo()
    context = kp.diagnose(tmp_path).summary.facts.to_json()
    assert context["not_known"][name] == "OSError: not here"
    assert name not in context
    assert context["versions"]["tensorflow"] == tf.__version__
    [line] = [line for line in said() if name in line]
    assert line.count(name) == 1
    the_one_note(tmp_path, name)


@pytest.mark.fault(2, "stages of the input pipeline that cannot be read")
@programs.needs_gap_times
def test_stages_that_cannot_be_read_cost_themselves_only(tmp_path, said, monkeypatch):
    monkeypatch.setattr("keras_perf.observers.steps.input.seen_pipeline.stages_from_model", fails)
    monkeypatch.setattr("keras_perf.observers.steps.input.seen_pipeline.buffer_fill", fails)
    observed(programs.model(), [kp.StepGapDetector(tmp_path)])
    diagnosis = kp.diagnose(tmp_path)
    assert diagnosis.summary.steps > 20
    assert diagnosis.summary.facts.to_json()["not_known"].keys() == {"stages", "prefetch_fill"}
    assert len(said()) == 1


@pytest.mark.fault(2, "an iterator that tf.data's model cannot be asked of")
@programs.needs_gap_times
def test_a_pipeline_that_cannot_be_asked_costs_the_input_wait_only(tmp_path, said, monkeypatch):
    monkeypatch.setattr(tf.data.experimental, "get_model_proto", fails)
    observed(programs.model(), [kp.StepGapDetector(tmp_path)])
    assert "input_wait" not in kp.diagnose(tmp_path).summary.parts
    assert said() == []


@pytest.mark.fault(2, "`psutil.Process()` that raises")
def test_a_sampler_without_psutil_has_the_gpus_all_the_same(tmp_path, said, monkeypatch):
    monkeypatch.setattr(psutil, "Process", fails)
    monkeypatch.setattr("keras_perf.observation.warmup_and_intervals.INTERVAL_S", 0.05)
    observed(programs.model(), [kp.GPUUtilizationSampler(tmp_path, interval_s=0.01)], 600)
    tags = set(kp.load_scalars(tmp_path)["tag"])
    assert "host/memory_used_mib" in tags
    assert "host/process_memory_mib" not in tags
    assert not [line for line in said() if "failed" in line]
