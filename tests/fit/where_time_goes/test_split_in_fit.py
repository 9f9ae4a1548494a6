"""The split of a real fit against what was injected."""

import os
import time
from typing import ClassVar

import bottlenecks
import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.observation.facts.input.pipeline_model import PipelineModel
from keras_perf.observation.facts.tracing_time import trace_counter

pytestmark = pytest.mark.timing


def diagnose(tmp_path, callbacks=(), *, data=None, epochs=2, **compile_arguments):
    network = programs.model(**compile_arguments)
    network.fit(
        programs.dataset(60) if data is None else data,
        epochs=epochs,
        verbose=0,
        shuffle=False,
        callbacks=[*callbacks, *kp.perf_callbacks(tmp_path, profiler=False, gpu=False)],
    )
    return kp.diagnose(tmp_path)


@programs.needs_gap_times
# Of several steps in one execution all but the last compute while the next batch is asked for:
# they must be short beside it.
@pytest.mark.parametrize(
    ("times", "n"), [(4, 1), pytest.param(40, 8, marks=pytest.mark.whole), (12, 1)]
)
def test_input_wait_is_what_was_injected(times, n, tmp_path):
    slept = []
    usual_ms = programs.usual_step_ms(steps_per_execution=n)
    injected_ms = max(times * usual_ms, 6 * programs.paused_step_ms(steps_per_execution=n))
    data = programs.dataset(60, input_ms=injected_ms, slept=slept)
    found = diagnose(tmp_path, data=programs.unbuffered(data), steps_per_execution=n)
    assert found.verdict == "input-bound"
    parts = found.breakdown
    assert parts["step"] >= injected_ms
    assert 0.7 * np.mean(slept) <= parts["input_wait"] <= 1.5 * np.mean(slept)


@pytest.mark.parametrize("n", [1, 8])
def test_a_callbacks_time_is_its_own(n, tmp_path):
    sleeper = programs.Outlasts(4)
    found = diagnose(
        tmp_path, [sleeper], data=programs.dataset(80), epochs=2, steps_per_execution=n
    )
    assert found.verdict == "callback-bound"
    assert found.breakdown["callbacks"] / found.breakdown["step"] > 0.6
    steady = sleeper.slept_ms[-found.summary.steps // n :]
    slept_ms = sum(steady) / found.summary.steps
    assert slept_ms <= found.summary.owners["Outlasts.on_train_batch_end"] <= 1.1 * slept_ms
    assert found.recommendations[0].id == "amortize-callback"
    assert found.recommendations[0].evidence["owner"] == "Outlasts.on_train_batch_end"


@pytest.mark.usefixtures("tracing_is_cheap")
def test_a_tiny_model_is_bound_by_dispatch(tmp_path):
    found = diagnose(tmp_path, data=programs.dataset(300), epochs=3)
    assert found.verdict == "dispatch-bound"
    assert found.recommendations[0].id == "raise-steps-per-execution"


class SlowSteps(keras.Sequential):
    """Waits in each step, before it computes, and knows for how many milliseconds."""

    slept: ClassVar[list[float]] = []

    def train_step(self, data):
        def wait(_):
            begin = time.perf_counter()
            time.sleep(0.01)
            self.slept.append(1e3 * (time.perf_counter() - begin))

        waits = tf.numpy_function(wait, [data[0]], [])
        with tf.control_dependencies([waits]):
            return super().train_step(data)


@programs.needs_gap_times
def test_of_two_steps_an_execution_keras_asks_for_the_second_batch_ahead(tmp_path):
    network = SlowSteps([keras.layers.Input((8,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse", steps_per_execution=2, jit_compile=False)
    ours = kp.StepGapDetector(tmp_path, summary=False)
    network.fit(programs.dataset(80), verbose=0, shuffle=False, callbacks=[ours])
    found = kp.diagnose(tmp_path)
    parts = found.summary.parts
    assert "input_wait" in parts
    # As if the last gap held one step, half of the time was dispatch. Where the only core is too
    # busy for Keras to ask ahead, it does hold one.
    assert parts["compute"] > 0.7 * np.mean(network.slept)
    if len(os.sched_getaffinity(0)) > 1:
        assert "dispatch" not in parts


def test_a_short_run_is_inconclusive(tmp_path):
    found = diagnose(tmp_path, data=programs.dataset(15), epochs=1)
    assert found.verdict == "inconclusive"
    assert found.recommendations == ()


def test_the_parts_add_up_to_the_step(tmp_path):
    parts = dict(diagnose(tmp_path, [programs.Sleeper(1)]).breakdown)
    assert np.nansum([*parts.values()]) - parts["step"] == pytest.approx(parts["step"])


def test_validation_and_epoch_ends_are_outside_of_every_step(tmp_path):
    class SlowEpochEnd(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            time.sleep(0.3)

    network = programs.model()
    begin = time.perf_counter()
    network.fit(
        programs.dataset(60),
        validation_data=programs.dataset(10, input_ms=30),
        epochs=3,
        verbose=0,
        shuffle=False,
        callbacks=[SlowEpochEnd(), kp.StepGapDetector(tmp_path)],
    )
    whole_s = time.perf_counter() - begin
    found = kp.diagnose(tmp_path)
    assert found.breakdown["step"] * found.summary.steps / 1e3 < whole_s - 3 * (0.3 + 10 * 0.03)


def test_without_autotune_the_input_wait_is_missing_and_said(tmp_path):
    options = tf.data.Options()
    options.autotune.enabled = False
    found = diagnose(tmp_path, data=programs.dataset(300).with_options(options))
    assert "perf/input_wait_ms" not in set(kp.load_scalars(tmp_path)["tag"])
    assert any("Input wait could not be measured" in note for note in found.notes)


def test_xla_compiling_for_the_smaller_last_batch_is_compile_time(tmp_path):
    x, y = programs.arrays(50)
    network = programs.model(jit_compile=True)
    bottlenecks.MEASURED.clear()
    callbacks = [
        kp.StepGapDetector(tmp_path),
        bottlenecks.Compilations(lambda execution: execution == 49),
    ]
    network.fit(x[:-3], y[:-3], batch_size=8, epochs=2, verbose=0, callbacks=callbacks)
    found = kp.diagnose(tmp_path)
    # One execution of a hundred compiled.
    compiled_ms = np.mean(bottlenecks.MEASURED)
    assert 0.7 * compiled_ms < found.breakdown["compile"] < 1.5 * compiled_ms
    assert found.breakdown["compile"] > 0.2 * found.breakdown["step"]
    assert found.verdict == "compile-bound"
    assert found.recommendations[0].id == "stable-shapes"


def test_the_trace_counter_is_found_in_keras_train_function():
    """Canary for `trace_counter`: the tf.function lies in the train function's closure."""
    network = programs.model()
    network.make_train_function()
    count = trace_counter(network.train_function)
    assert count() == 0
    network.fit(programs.dataset(3), verbose=0, shuffle=False)
    assert trace_counter(network.train_function)() == 1


@programs.needs_gap_times
def test_mirrored_replicas_iterators_are_found(tmp_path):
    """Canary for `PipelineModel`: the device iterators behind a DistributedIterator."""
    iterators = []
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        network = programs.model()
    network.make_train_function()
    function = network.train_function

    def note(iterator):
        iterators.append(iterator)
        return function(iterator)

    network.train_function = note
    network.fit(programs.dataset(5), verbose=0, shuffle=False)
    assert isinstance(iterators[0], tf.distribute.DistributedIterator)
    found = PipelineModel(iterators[0])
    assert found.read().gap_times
    # Not the pipeline's stages are there, but what hands its batches over.
    assert found.feeds_devices
    assert any(node.name.startswith("Generator") for node in found.read().nodes.values())


@programs.needs_gap_times
def test_steps_longer_than_an_interval_are_told_of_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.observation.warmup_and_intervals.INTERVAL_S", 1e-4)
    diagnose(tmp_path, data=programs.dataset(60), epochs=1)
    scalars = kp.load_scalars(tmp_path)
    assert sum(scalars["tag"] == "perf/step_time_ms") > 5
    assert sum(scalars["tag"] == "perf/input_wait_ms") > 5


@programs.needs_gap_times
@pytest.mark.parametrize(("parallel", "threads"), [(tf.data.AUTOTUNE, 2), (None, 1)])
def test_a_map_fused_with_its_batch_shows_the_calls_that_run_at_a_time(parallel, threads, tmp_path):
    # A batch takes as long as eight steps, or autotune adds no thread.
    wait_s = max(1.0, programs.usual_step_ms()) / 1e3

    def slow(x):
        return tf.numpy_function(lambda x: (time.sleep(wait_s), x)[1], [x], tf.float32)

    data = tf.data.Dataset.from_tensor_slices(np.ones((60 * 8, 8), "float32"))
    calls = {"num_parallel_calls": parallel} if parallel else {}
    data = data.map(lambda x: (tf.ensure_shape(slow(x), (8,)), x[:1]), **calls)
    found = diagnose(tmp_path, data=data.batch(8).prefetch(2))
    [stage] = [s for s in found.summary.facts.to_json()["stages"] if s["name"] == "MapAndBatch"]
    # Autotune gives no stage more threads than there are cores.
    assert min(stage["parallelism"], 2) == min(threads, len(os.sched_getaffinity(0)))
