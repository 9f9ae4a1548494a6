"""Windows that something else than the schedule starts."""

import os
import signal
import threading
import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf
from numpy.lib.stride_tricks import sliding_window_view
from traces import At, captures, marked_steps, traces

import keras_perf as kp
from keras_perf.capture import triggers
from keras_perf.capture.triggers import OnShapesThatDiffer
from keras_perf.observation import warmup_and_intervals as pace
from keras_perf.records.execution import Execution, Kind

FAR = 10**6


@pytest.fixture(autouse=True)
def short_intervals(monkeypatch):
    """The triggers are looked at when an interval ends."""
    monkeypatch.setattr(pace, "INTERVAL_S", 0.02)


@pytest.fixture(autouse=True)
def signal_is_given_back():
    before = signal.getsignal(signal.SIGUSR2)
    yield
    assert signal.getsignal(signal.SIGUSR2) is before


def fit(log_dir, *others, batches=300, **arguments):
    arguments = {"skip_first": FAR, "active_steps": 5} | arguments
    callbacks = [kp.WindowedProfiler(log_dir, **arguments), *others]
    programs.model().fit(programs.dataset(batches), verbose=0, shuffle=False, callbacks=callbacks)


def reasons(log_dir):
    return [capture["reason"] for capture in captures(log_dir)]


def test_a_signal_starts_a_window_at_the_next_execution_each_time(tmp_path):
    def send():
        os.kill(os.getpid(), signal.SIGUSR2)

    fit(tmp_path, At(send, 30, 60), on_signal=True)
    assert reasons(tmp_path) == ["SIGUSR2"] * 2
    windows = [list(range(first, first + 5)) for first in (30, 60)]
    assert [marked_steps(path) for path in traces(tmp_path)] == windows


def test_who_listened_to_the_signal_before_is_still_told(tmp_path):
    heard = []
    before = signal.signal(signal.SIGUSR2, lambda number, frame: heard.append(number))
    try:
        fit(tmp_path, At(lambda: os.kill(os.getpid(), signal.SIGUSR2), 30), on_signal=True)
        assert heard == [signal.SIGUSR2]
        assert len(traces(tmp_path)) == 1
    finally:
        signal.signal(signal.SIGUSR2, before)


@pytest.mark.parametrize("heard_by_others", [False, True])
def test_several_profilers_that_listen_leave_the_signal_as_it_was(tmp_path, heard_by_others):
    heard = []
    before = signal.getsignal(signal.SIGUSR2)
    if heard_by_others:
        signal.signal(signal.SIGUSR2, lambda number, frame: heard.append(number))
    others = signal.getsignal(signal.SIGUSR2)
    second = kp.WindowedProfiler(tmp_path / "b", skip_first=FAR, active_steps=5, on_signal=True)
    try:
        fit(
            tmp_path / "a",
            second,
            At(lambda: os.kill(os.getpid(), signal.SIGUSR2), 30),
            on_signal=True,
        )
        assert signal.getsignal(signal.SIGUSR2) is others
        assert len(heard) == heard_by_others
        assert len(traces(tmp_path / "a")) + len(traces(tmp_path / "b")) == 1
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_the_signal_is_left_alone_unless_asked_for(tmp_path):
    seen = []
    fit(tmp_path, At(lambda: seen.append(signal.getsignal(signal.SIGUSR2)), 30), batches=40)
    assert seen == [signal.getsignal(signal.SIGUSR2)]


def test_a_fit_in_another_thread_says_that_it_cannot_listen(tmp_path, said):
    thread = threading.Thread(target=fit, args=(tmp_path,), kwargs={"on_signal": True})
    thread.start()
    thread.join()
    assert any("SIGUSR2 starts no window" in line for line in said())


def test_touching_the_file_starts_a_window_each_time(tmp_path):
    file = tmp_path / "capture_now"
    seconds = iter((1000, 2000))

    def touch():
        file.touch()
        os.utime(file, (next(seconds),) * 2)
        time.sleep(0.03)

    fit(tmp_path, At(touch, 50, 200))
    assert reasons(tmp_path) == ["capture_now was touched"] * 2
    for path, batch in zip(traces(tmp_path), (50, 200), strict=True):
        steps = marked_steps(path)
        assert len(steps) == 5
        assert batch <= steps[0] <= batch + 100
    assert file.exists()


def test_a_file_left_from_another_training_starts_nothing(tmp_path):
    (tmp_path / "capture_now").touch()
    fit(tmp_path)
    assert not traces(tmp_path)


def test_windows_come_by_time_beside_those_of_the_schedule(tmp_path):
    slow = programs.Sleeper(2)
    fit(tmp_path, slow, batches=200, every_s=0.1, skip_first=0, warmup_steps=10)
    found = reasons(tmp_path)
    assert found[0] == "schedule"
    assert "every 0.1 s" in found
    steps = [step for path in traces(tmp_path) for step in marked_steps(path)]
    assert len(steps) == len(set(steps))


class SlowFrom(keras.callbacks.Callback):
    """Sleeps in its batch hook from a batch on, up to another."""

    def __init__(self, first, last, ms):
        super().__init__()
        self.first, self.last, self.ms = first, last, ms

    def on_train_batch_end(self, batch, logs=None):
        if self.first <= batch < self.last:
            time.sleep(self.ms / 1e3)


def stalls(*batches):
    """Steps far longer than any here and now."""
    ms = max(60.0, 30 * programs.usual_step_ms())
    return [SlowFrom(batch, batch + 1, ms) for batch in batches]


class Slower(keras.callbacks.Callback):
    """From a batch on sleeps three times as long as the steps before it lasted here and now."""

    def __init__(self, first):
        super().__init__()
        self.first, self.ends = first, []

    def on_train_batch_end(self, batch, logs=None):
        self.ends.append(time.perf_counter())
        if batch >= self.first:
            time.sleep(3 * np.median(np.diff(self.ends[: self.first])))

    def became_slower(self, step):
        """Before it some 32 steps took longer, by this clock, than others had before them."""
        medians = np.median(sliding_window_view(np.diff(self.ends[:step]), 32), axis=1)
        return bool((medians > 1.8 * np.minimum.accumulate(medians)).any())


class NotRead:
    """In place of reading a trace: beside that no step is judged, however long it takes."""

    step, is_done = 0, True

    def __init__(self, saved, step):
        pass

    def result(self):
        raise ValueError("not needed")


@pytest.mark.timing
def test_steps_that_become_slower_are_captured(tmp_path, monkeypatch):
    """Single steps may be slow by themselves on a busy machine, and are captured too."""
    monkeypatch.setattr("keras_perf.capture.background_reader.TraceReading", NotRead)
    arguments = {"on_slow_step": 2.0, "max_captures": 50, "cooldown_s": 0.3}
    slower = Slower(150)
    fit(tmp_path, programs.Sleeper(2), *stalls(140), slower, **arguments)
    found = [c["first_step"] for c in captures(tmp_path) if "times the usual" in c["reason"]]
    assert max(found, default=0) > 150
    assert all(map(slower.became_slower, found))


@pytest.mark.timing
def test_a_cooldown_and_a_maximum_hold_the_captures_of_slow_steps_back(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_perf.capture.background_reader.TraceReading", NotRead)
    slow = stalls(*range(60, 300, 20))
    arguments = {"on_slow_step": 50.0, "batches": 400}
    fit(tmp_path / "cooldown", programs.Sleeper(1), *slow, **arguments)
    assert len(traces(tmp_path / "cooldown")) == 1
    arguments |= {"max_captures": 2, "cooldown_s": 0.01}
    fit(tmp_path / "most", programs.Sleeper(1), *slow, **arguments)
    assert len(traces(tmp_path / "most")) == 2


@pytest.mark.timing
def test_steps_beside_a_trace_that_is_read_are_not_called_slow(tmp_path, monkeypatch):
    class ReadForTheRestOfTraining(NotRead):
        is_done = False

    reading = "keras_perf.capture.background_reader.TraceReading"
    monkeypatch.setattr(reading, ReadForTheRestOfTraining)
    slow = stalls(*range(150, 300, 20))
    arguments = {"on_slow_step": 50.0, "cooldown_s": 0.01, "max_captures": 9}
    schedule = {"skip_first": 0, "warmup_steps": 50}
    fit(tmp_path, programs.Sleeper(1), *slow, **arguments, **schedule)
    assert "schedule" in reasons(tmp_path)
    assert not [c for c in captures(tmp_path) if c["first_step"] > 150]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"every_s": 0}, ValueError, "every_s must be above 0"),
        ({"every_s": "60"}, TypeError, "every_s must be a number"),
        ({"on_slow_step": 1.0}, ValueError, "on_slow_step must be above 1"),
        ({"on_slow_step": True}, TypeError, "on_slow_step must be a number"),
        ({"max_captures": 0}, ValueError, "max_captures must be at least 1"),
        ({"cooldown_s": -1}, ValueError, "cooldown_s must be above 0"),
        ({"on_signal": 1}, TypeError, "on_signal must be True or False"),
        ({"workers": "chef"}, ValueError, "workers must be 'chief', 'all' or a list"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, words, tmp_path):
    with pytest.raises(error, match=words):
        kp.WindowedProfiler(tmp_path, **arguments)


# -- shapes that differ ------------------------------------------------------------------


def xla_on_lengths(log_dir, length, batches=50):
    """A fit that XLA compiles, on batches whose length the iterator does not tell."""
    layers = keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)
    network = keras.Sequential([keras.layers.Input((None, 4)), *layers])
    network.compile("sgd", "mse", jit_compile=True)

    def ones(place):
        return tf.ones((8, length(place), 4)), tf.ones((8, 1))

    data = tf.data.Dataset.range(batches).map(ones)
    profiler = kp.WindowedProfiler(log_dir, skip_first=FAR, active_steps=5)
    network.fit(data, verbose=0, shuffle=False, callbacks=[profiler, kp.StepGapDetector(log_dir)])
    return kp.diagnose(log_dir)


@pytest.mark.parametrize(("differ", "ms", "asked"), [(True, 40, 1), (False, 40, 0), (True, 4, 0)])
def test_where_steps_may_all_compile_one_window_is_asked_for(differ, ms, asked):
    granted, now = [], [0]

    def request(reason):
        # In its own warm-up the profiler refuses.
        if now[0] >= 100:
            granted.append(now[0])
        return now[0] >= 100

    trigger = OnShapesThatDiffer(lambda: differ, request)
    lasting = ms * 1_000_000
    for now[0] in range(200):
        trigger.executions([Execution(now[0], 1, Kind.STEADY, 0, lasting, lasting, lasting)])
    assert granted == [100] * asked


@programs.needs_gap_times
@pytest.mark.whole
def test_where_steps_all_compile_that_window_tells(tmp_path):
    found = xla_on_lengths(tmp_path, lambda place: 8 + place)
    assert reasons(tmp_path) == ["shapes differ: does XLA compile in nearly every step?"]
    assert found.verdict == "compile-bound"
    assert found.breakdown["compile"] > found.breakdown["compute"]
    assert found.recommendations[0].id == "stable-shapes"
    assert found.summary.trace["compiled_ratio"] == 1.0


@programs.needs_gap_times
def test_where_shapes_could_differ_and_do_not_nothing_is_captured(tmp_path):
    """The batches' bytes tell it, however long others hold a step up."""
    found = xla_on_lengths(tmp_path, lambda place: 8 + 0 * tf.cast(place, tf.int32))
    assert reasons(tmp_path) == []
    assert found.verdict != "compile-bound"
    assert found.breakdown["compile"] == 0.0
    assert not found.summary.facts.input.shapes_differ


def test_a_last_step_that_is_held_up_did_not_compile_where_all_batches_have_as_many_rows(tmp_path):
    def late(place):
        time.sleep(0.2 * (place == 49))
        return np.ones((8, 4), "float32")

    def batch(place):
        x = tf.ensure_shape(tf.numpy_function(late, [place], tf.float32), (8, 4))
        return x, x[:, :1]

    network = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    network.compile("sgd", "mse", jit_compile=True)
    data = tf.data.Dataset.range(50).map(batch)
    network.fit(data, verbose=0, shuffle=False, callbacks=[kp.StepGapDetector(tmp_path)])
    assert kp.diagnose(tmp_path).breakdown["compile"] == 0.0


# -- steps that vary ---------------------------------------------------------------------


class OfTheirOwn(keras.layers.Layer):
    """A layer whose function XLA compiles, though Keras is told to leave XLA alone."""

    @tf.function(jit_compile=True)
    def of_all(self, x):
        return tf.reduce_mean(tf.sin(x), axis=1)

    def call(self, x):
        return self.of_all(x)


class Waits(keras.layers.Layer):
    """Takes longer than any other part of a step, however long others hold these up."""

    def __init__(self):
        super().__init__()
        self.wait_s = max(5.0, 5 * programs.usual_step_ms()) / 1e3

    def call(self, x):
        def wait(values):
            time.sleep(self.wait_s)
            return values

        return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape)


def own_function_on_lengths(log_dir, length, *others, batches=120):
    """A fit of a model with such a layer; Keras knows of no shapes that XLA compiles for."""
    layers = keras.layers.Input((None, 4)), *others, OfTheirOwn(), keras.layers.Dense(1)
    network = keras.Sequential(layers)
    network.compile("sgd", "mse", jit_compile=False)

    def ones(place):
        return tf.ones((8, length(place), 4)), tf.ones((8, 1))

    data = tf.data.Dataset.range(batches).map(ones)
    profiler = kp.WindowedProfiler(log_dir, skip_first=FAR, active_steps=8)
    network.fit(data, verbose=0, shuffle=False, callbacks=[profiler, kp.StepGapDetector(log_dir)])
    return kp.diagnose(log_dir)


@pytest.mark.whole
@programs.needs_gap_times
def test_where_most_steps_vary_a_window_tells_that_a_function_of_the_users_own_compiles(
    tmp_path, monkeypatch
):
    """Of four batches three have a length that none had before."""
    # How many steps a machine makes until they are looked at, nobody knows.
    monkeypatch.setattr(triggers, "FIRST_NS", 0)

    def length(place):
        return tf.where(place % 4 == 0, 8, 8 + tf.cast(place, tf.int32))

    found = own_function_on_lengths(tmp_path, length)
    [reason] = reasons(tmp_path)
    assert "times as long as the quickest tenth" in reason
    assert found.verdict == "compile-bound"
    assert found.summary.trace["compiled_ratio"] > 0.5
    advice = found.recommendations[0]
    assert (advice.id, advice.title) == (
        "stable-shapes",
        "Give what XLA compiles batches of few shapes",
    )
    assert "a function of your own with jit_compile=True" in advice.reason


@pytest.mark.whole
@pytest.mark.timing
@programs.needs_gap_times
def test_where_all_steps_are_alike_none_is_captured(tmp_path, monkeypatch):
    # They are looked at from the first one on, however long a machine takes for them.
    monkeypatch.setattr(triggers, "FIRST_NS", 0)
    own_function_on_lengths(tmp_path, lambda place: 8 + 0 * tf.cast(place, tf.int32), Waits())
    assert reasons(tmp_path) == []
