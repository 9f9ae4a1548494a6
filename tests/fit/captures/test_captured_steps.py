"""Exactly the steps that were asked for lie in the traces, and the record says so."""

import logging
import re
import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf
from tensorflow.python.profiler import profiler_v2
from traces import At, captures, fetched_batches, marked_steps, steps_of_xprof, traces

import keras_perf as kp
from keras_perf.backends import on_tensorflow
from keras_perf.capture import profiler_door, trace_size
from keras_perf.observers.capture_windows import cost as capture_cost
from keras_perf.records.execution import Kind
from keras_perf.trace.file.xplane import read_xspace
from keras_perf.trace.host import read_host
from keras_perf.trials.train_functions.keras_function import inner_function

SCHEDULES = {
    "once": {"warmup_steps": 20, "active_steps": 10},
    "cycles": {"wait_steps": 5, "warmup_steps": 6, "active_steps": 9, "repeat": 2},
    "over epochs": {"skip_first": 30, "warmup_steps": 8, "active_steps": 8},
}


def fit(log_dir, steps_per_execution=1, batches=42, epochs=2, others=(), **arguments):
    network = programs.model(steps_per_execution=steps_per_execution)
    callbacks = [kp.WindowedProfiler(log_dir, **arguments), *others]
    data = programs.dataset(batches)
    network.fit(data, epochs=epochs, verbose=0, shuffle=False, callbacks=callbacks)
    return network


@pytest.mark.parametrize("epochs", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.parametrize("steps_per_execution", [1, 4, 7])
@pytest.mark.parametrize("name", SCHEDULES)
def test_exactly_the_active_steps_rounded_outwards_are_captured(
    name, steps_per_execution, epochs, tmp_path
):
    arguments, batches = SCHEDULES[name], 84 // epochs
    fit(tmp_path, steps_per_execution, batches, epochs, **arguments)
    schedule = kp.WindowedProfiler(tmp_path, **arguments).schedule
    # The last execution of an epoch is shorter where its steps do not divide.
    executions = [
        (epoch * batches + first, min(steps_per_execution, batches - first))
        for epoch in range(epochs)
        for first in range(0, batches, steps_per_execution)
    ]
    expected: dict[int, list[int]] = {}
    for first, steps in executions:
        cycle = schedule.window(first, steps)
        if cycle is not None:
            expected.setdefault(cycle, []).append(first)
    assert [marked_steps(path) for path in traces(tmp_path)] == list(expected.values())
    lengths = dict(executions)
    for cycle, capture in enumerate(captures(tmp_path)):
        firsts = expected[cycle]
        assert capture["first_step"] == firsts[0]
        assert capture["last_step"] == firsts[-1] + lengths[firsts[-1]]
        asked = capture["asked_first_step"], capture["asked_last_step"]
        assert asked == (schedule.start_of(cycle), schedule.end_of(cycle))
        assert capture["reason"] == "schedule"


def test_rounding_is_said_with_the_capture(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="keras_perf")
    fit(tmp_path, steps_per_execution=8, batches=80, epochs=1, active_steps=10)
    [line] = [r.getMessage() for r in caplog.records if "captured steps" in r.getMessage()]
    assert "captured steps 16 to 31 (asked for: 20 to 29; executions of several" in line
    [capture] = captures(tmp_path)
    assert (capture["first_step"], capture["asked_first_step"]) == (16, 20)


def test_steps_of_a_resumed_training_are_counted_from_its_begin(tmp_path):
    network = fit(tmp_path / "first", batches=30, epochs=1)
    profiler = kp.WindowedProfiler(tmp_path / "second", active_steps=5)
    network.fit(programs.dataset(30), verbose=0, shuffle=False, callbacks=[profiler])
    [path] = traces(tmp_path / "second")
    assert marked_steps(path) == list(range(50, 55))


@pytest.mark.parametrize(("batch", "first"), [(0, 20), (5, 26), (19, 40), (25, 20)])
def test_warm_up_starts_again_after_a_retrace_inside_it_but_the_first(
    batch, first, tmp_path, monkeypatch
):
    traced = 0

    def trace():
        nonlocal traced
        traced += 1

    monkeypatch.setattr(on_tensorflow, "trace_counter", lambda function: lambda: traced)
    fit(tmp_path, batches=80, epochs=1, others=[At(trace, batch)], active_steps=10)
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(first, first + 10))


def test_warm_up_starts_again_after_xla_compiled_for_a_smaller_batch(tmp_path):
    x, y = programs.arrays(30)
    network = programs.model(jit_compile=True)
    profiler = kp.WindowedProfiler(tmp_path, skip_first=10, warmup_steps=25, active_steps=5)
    network.fit(
        x[:-3], y[:-3], batch_size=8, epochs=3, verbose=0, shuffle=False, callbacks=[profiler]
    )
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(55, 60))


def test_warm_up_starts_again_after_compiling_for_another_length(tmp_path, caplog):
    caplog.set_level(logging.INFO, logger="keras_perf")

    def examples():
        for batch in range(220):
            x = np.ones((8, 6 if batch >= 30 else 4, 8), "float32")
            yield x, x.sum(axis=(1, 2))[:, None]

    shapes = tf.TensorSpec((8, None, 8)), tf.TensorSpec((8, 1))
    data = tf.data.Dataset.from_generator(examples, output_signature=shapes)
    data = data.apply(tf.data.experimental.assert_cardinality(220))
    layers = keras.layers.Input((None, 8)), keras.layers.GlobalAveragePooling1D()
    network = keras.Sequential([*layers, keras.layers.Dense(1)])
    network.compile("adam", "mse", jit_compile=True)
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=40, active_steps=5)
    network.fit(data, verbose=0, shuffle=False, callbacks=[profiler])
    why = "the train function was traced" if programs.STEPS_ON_BATCHES else "XLA"
    told = re.findall(rf"warm-up starts again at step (\d+): {why}", caplog.text)
    # A machine that stands still for a moment may look like another compilation.
    assert "31" in told
    [path] = traces(tmp_path)
    begin = int(told[-1]) + 40
    assert marked_steps(path) == list(range(begin, begin + 5))


@pytest.mark.timing
@programs.needs_gap_times
def test_waiting_for_input_is_no_compilation(tmp_path):
    def examples():
        for batch in range(120):
            if batch == 50:
                time.sleep(0.5)
            x = np.ones((8, 4, 8), "float32")
            yield x, x.sum(axis=(1, 2))[:, None]

    shapes = tf.TensorSpec((8, None, 8)), tf.TensorSpec((8, 1))
    data = tf.data.Dataset.from_generator(examples, output_signature=shapes)
    data = data.apply(tf.data.experimental.assert_cardinality(120))
    layers = keras.layers.Input((None, 8)), keras.layers.GlobalAveragePooling1D()
    network = keras.Sequential([*layers, keras.layers.Dense(1)])
    network.compile("adam", "mse", jit_compile=True)
    seen = []
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=60, active_steps=5)
    told = profiler.executions
    profiler.executions = lambda executions: seen.extend(executions) or told(executions)
    network.fit(data, verbose=0, shuffle=False, callbacks=[profiler])
    # A machine that stands still for a moment may look like a compilation.
    assert {e.kind for e in seen if e.first_step in (49, 50)} == {Kind.STEADY}


@pytest.mark.usefixtures("tracing_is_cheap")
@pytest.mark.parametrize("apply", [False, True])
def test_what_the_recommender_runs_in_longer_executions_costs_no_active_step(apply, tmp_path):
    recommender = kp.StepsPerExecutionRecommender(tmp_path, apply=apply)
    fit(tmp_path, batches=600, epochs=1, others=[recommender], skip_first=60, active_steps=20)
    [path] = traces(tmp_path)
    steps = marked_steps(path)
    assert len(steps) == 20
    assert steps == list(range(steps[0], steps[0] + 20))
    assert recommender.recommendation.evidence["trial_executions"] > 3


def small_traces(monkeypatch):
    monkeypatch.setattr("keras_perf.observers.capture_windows.cost.LARGEST_BYTES", 310_000)
    monkeypatch.setattr("keras_perf.observers.capture_windows.cost.FIXED_BYTES", 10_000)


def test_a_window_that_would_be_huge_is_shortened_and_that_is_said(tmp_path, said, monkeypatch):
    small_traces(monkeypatch)
    fit(tmp_path, batches=200, epochs=1, active_steps=150)
    [path] = traces(tmp_path)
    [line] = said()
    shortened = int(re.search(r"is shortened from 150 steps to (\d+):", line).group(1))
    assert 10 <= len(marked_steps(path)) == shortened < 60
    # What a trace holds besides its steps depends on what ran in the process before.
    fit(tmp_path / "one step", batches=60, epochs=1, active_steps=1)
    [short] = traces(tmp_path / "one step")
    assert path.stat().st_size - short.stat().st_size < 900_000


def test_the_next_window_s_size_is_known_from_the_one_before(tmp_path, said, monkeypatch):
    monkeypatch.setattr("keras_perf.capture.trace_size.nodes_of_a_step", lambda _: 1)
    small_traces(monkeypatch)
    fit(tmp_path, batches=300, epochs=1, active_steps=100, repeat=2)
    first, second = captures(tmp_path)
    assert first["last_step"] - first["first_step"] == 100
    assert second["last_step"] - second["first_step"] < 60
    assert len(said()) == 1


# In fours the loop inside a step lies in another one.
@pytest.mark.parametrize("steps_per_execution", [pytest.param(1, marks=pytest.mark.long), 4])
def test_a_loop_inside_the_steps_makes_their_trace_larger_as_estimated(
    steps_per_execution, tmp_path, said
):
    """Without its rounds the estimate would be a tenth of what the steps take."""
    keras.utils.set_random_seed(1)
    layers = [keras.layers.Input((60, 8)), keras.layers.GRU(16), keras.layers.Dense(1)]
    network = keras.Sequential(layers)
    arguments = {"jit_compile": False, "steps_per_execution": steps_per_execution}
    network.compile("adam", "mse", **arguments)
    x = np.random.default_rng(0).normal(size=(52 * 8, 60, 8)).astype("float32")
    sizes = []
    for steps in (4, 24):
        profiler = kp.WindowedProfiler(tmp_path / str(steps), warmup_steps=24, active_steps=steps)
        data = tf.data.Dataset.from_tensor_slices((x, x[:, 0, :1])).batch(8)
        network.fit(data, verbose=0, shuffle=False, callbacks=[profiler])
        sizes.append(captures(tmp_path / str(steps))[0]["size_bytes"])
    measured = (sizes[1] - sizes[0]) / 20
    estimated = trace_size.nodes_of_a_step(network.train_function) * capture_cost.BYTES_PER_OP
    assert 0.8 * measured < estimated < 4 * measured
    assert not said()


@pytest.mark.parametrize("arguments", [{"run_eagerly": True}, {"steps_per_execution": 4}])
def test_the_size_of_a_long_window_is_estimated_for_any_train_function(arguments, tmp_path, said):
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=4, active_steps=60)
    network = programs.model(**arguments)
    network.fit(programs.dataset(70), verbose=0, shuffle=False, callbacks=[profiler])
    assert len(traces(tmp_path)) == 1
    assert not said()


def test_steps_of_an_execution_are_told_apart_where_python_runs_them(tmp_path):
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=4, active_steps=12)
    network = programs.model(run_eagerly=True, steps_per_execution=4)
    network.fit(programs.dataset(20), verbose=0, shuffle=False, callbacks=[profiler])
    assert kp.read_trace(tmp_path).to_frame()["step"].tolist() == list(range(4, 16))


def test_what_a_capture_costs_is_logged_with_it(tmp_path):
    fit(tmp_path, batches=80, epochs=1)
    [capture] = captures(tmp_path)
    assert capture["stop_s"] > 0
    assert capture["start_s"] > 0
    assert capture["slowdown"] > 0.3
    [path] = traces(tmp_path)
    assert capture["size_bytes"] == path.stat().st_size
    assert capture["trace"] == path.parent.name
    scalars = kp.load_scalars(tmp_path)
    logged = scalars[scalars["tag"].str.startswith("capture/")].set_index("tag")
    assert (logged["step"] == 40).all()
    assert set(logged.index) == {
        "capture/slowdown_ratio",
        "capture/start_ms",
        "capture/stop_ms",
        "capture/size_mib",
    }
    assert logged.loc["capture/slowdown_ratio", "value"] == pytest.approx(capture["slowdown"])


def test_a_custom_loop_s_marked_steps_are_counted_by_xprof(tmp_path):
    train_step = tf.function(lambda x: tf.reduce_sum(x @ x))
    batch = tf.ones((32, 32))
    profiler_door.start(str(tmp_path / "perf"))
    for step in range(5, 12):
        with kp.step_marker(step):
            float(train_step(batch))
    profiler_door.stop()
    [path] = traces(tmp_path)
    assert marked_steps(path) == list(range(5, 12))
    # xprof drops the first and the last marked step.
    assert steps_of_xprof(path) == [f"train {step}" for step in range(6, 11)]


def test_a_function_that_is_called_as_steps_are_is_no_step(tmp_path):
    @tf.function
    def train(value):
        return value + 1.0

    train(tf.constant(1.0))
    tf.profiler.experimental.start(str(tmp_path))
    for step in range(5):
        with kp.step_marker(step):
            train(tf.constant(1.0)).numpy()
    tf.profiler.experimental.stop()
    assert kp.read_trace(tmp_path).to_frame()["step"].tolist() == [0, 1, 2, 3, 4]


def test_a_marked_step_begins_where_it_is_entered(tmp_path):
    profiler_door.start(str(tmp_path / "perf"))
    marker = kp.step_marker(1)
    time.sleep(0.05)
    entered_s = time.perf_counter()
    with marker:
        pass
    within_s = time.perf_counter() - entered_s
    profiler_door.stop()
    [path] = traces(tmp_path)
    [plane] = [p for p in read_xspace(path).host_planes if "train" in p.event_names.values()]
    [length] = [
        duration
        for line in plane.lines()
        for name, duration in zip(line.events.name_id, line.events.duration, strict=True)
        if plane.event_names[int(name)] == "train"
    ]
    assert length < 1e12 * within_s + 1e9  # clocks may tick apart, but not by a sleep


def test_the_graph_of_a_train_function_can_be_counted():
    """Canary for `trace_size`: a tf.function lists what it has traced privately."""
    network = programs.model()
    network.fit(programs.dataset(3), verbose=0, shuffle=False)
    assert trace_size.nodes_of_a_step(network.train_function) > 50
    assert hasattr(inner_function(network.train_function), "_list_all_concrete_functions")


def test_the_session_that_python_runs_can_be_seen(tmp_path):
    """Canary for `profiler_door`: TensorFlow keeps its session in a private name."""
    assert profiler_v2._profiler is None
    tf.profiler.experimental.start(str(tmp_path))
    try:
        assert profiler_v2._profiler is not None
    finally:
        tf.profiler.experimental.stop(save=False)


@pytest.mark.parametrize("validated", [False, True])
def test_what_saving_a_capture_takes_is_nothing_that_lies_between_epochs(
    validated, monkeypatch, tmp_path
):
    settings = {"epochs": 2, "verbose": 0, "shuffle": False}
    if validated:
        settings["validation_data"] = programs.dataset(3, 2)
    stop, took_ns, gaps = profiler_door.stop, [], []

    def stops():
        begin = time.perf_counter_ns()
        result = stop()
        took_ns.append(time.perf_counter_ns() - begin)
        return result

    monkeypatch.setattr(profiler_door, "stop", stops)
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=2, active_steps=18)
    detector = kp.StepGapDetector(tmp_path)
    monkeypatch.setattr(detector, "epoch_gap_ends", gaps.append)
    programs.model().fit(programs.dataset(20), callbacks=[profiler, detector], **settings)
    assert [gap.step for gap in gaps] == [20, 40]
    assert gaps[0].observed_ns >= sum(took_ns) > 0
    assert (gaps[0].validation_ns is not None) is validated


def test_what_is_fetched_ahead_to_a_device_is_no_wait_of_a_step(tmp_path):
    """The names of TensorFlow's events are no public ones: this fails when they change."""
    data = programs.dataset(60).apply(tf.data.experimental.prefetch_to_device("/CPU:0"))
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=20, active_steps=10)
    how = {"steps_per_epoch": 50, "verbose": 0, "shuffle": False}
    programs.model().fit(data, callbacks=[profiler], **how)
    [path] = traces(tmp_path)
    assert fetched_batches(path) > 15
    assert len(read_host(read_xspace(path)).waits.begin) == 10


@pytest.mark.parametrize("steps_per_execution", [1, 5])
def test_what_a_strategy_fetches_for_its_devices_is_waited_for(steps_per_execution, tmp_path):
    with tf.distribute.MirroredStrategy(["/CPU:0"]).scope():
        network = programs.model(steps_per_execution=steps_per_execution)
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=20, active_steps=10)
    data = programs.dataset(40)
    network.fit(data, verbose=0, shuffle=False, callbacks=[profiler])
    [path] = traces(tmp_path)
    assert len(read_host(read_xspace(path)).waits.begin) == 10


@pytest.mark.parametrize("validates", [False, True])
def test_an_epoch_of_one_execution_is_captured_alone(validates, tmp_path, caplog):
    """What lies between two is then not known, and is no step's."""
    network = programs.model(steps_per_execution=12)
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=12, active_steps=8)
    how = {"validation_data": programs.dataset(2)} if validates else {}
    data = programs.dataset(12)
    network.fit(data, epochs=4, verbose=0, shuffle=False, callbacks=[profiler], **how)
    assert [marked_steps(path) for path in traces(tmp_path)] == [[12]]
    assert "early" not in caplog.text
