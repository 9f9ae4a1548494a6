"""Real captures, read: against xprof, against a clock, and of whoever captured them."""

import time

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.summary import summarize
from keras_perf.read.fits import fits_of
from keras_perf.trace.agreement import compare_with_split
from keras_perf.trace.file.xprof import table, xprof_tool
from keras_perf.trace.step_frame import PARTS

pytestmark = pytest.mark.timing


class Sleeps:
    """Sleeps so long and three times as long by turns, and keeps how long it really took."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.slept_ms = []

    def __call__(self, *_):
        begin = time.perf_counter()
        time.sleep(self.seconds * (1 + len(self.slept_ms) % 2 * 2))
        self.slept_ms.append(1e3 * (time.perf_counter() - begin))


class SleepsAfterSteps(keras.callbacks.Callback):
    """Before all other hooks. Keeps how long each execution took before it, and when it ended."""

    def __init__(self, sleeps):
        super().__init__()
        self.sleeps, self.took_ms, self.ends = sleeps, [], []

    def on_train_batch_begin(self, batch, logs=None):
        self.begin = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.ends.append(time.perf_counter())
        self.took_ms.append(1e3 * (self.ends[-1] - self.begin))
        self.sleeps()


class Begins(keras.callbacks.Callback):
    """Behind all other hooks: when each execution begins."""

    def __init__(self):
        super().__init__()
        self.begins = []

    def on_train_batch_begin(self, batch, logs=None):
        self.begins.append(time.perf_counter())


def slow_data(batches, sleeps):
    """Every batch is waited for: nothing is prepared ahead."""

    def slow(x):
        sleeps()
        return x

    def through_python(x, y):
        return tf.ensure_shape(tf.numpy_function(slow, [x], tf.float32), x.shape), y

    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return programs.dataset(batches).map(through_python).with_options(options)


def long_beside_a_step(times):
    """Which an execution of several computes while it waits for the next batch; and long beside
    what a busy machine lets a thread wait that wakes.
    """
    return Sleeps(1e-3 * times * max(1.0, programs.usual_step_ms()))


def fit(log_dir, steps_per_execution=1):
    """A fit that sleeps for each batch and after each execution, with a trace of 20 executions.

    Returns what it slept for each batch; by a clock, the time between two executions: its sleep and
    all other hooks; and what a step of these 20 took beside its sleep.
    """
    network = programs.model(steps_per_execution=steps_per_execution)
    in_input, after = long_beside_a_step(3), long_beside_a_step(2)
    active_steps = 20 * steps_per_execution
    clock, behind = SleepsAfterSteps(after), Begins()
    callbacks = [
        clock,
        kp.WindowedProfiler(log_dir, warmup_steps=20, active_steps=active_steps),
        kp.StepGapDetector(log_dir),
        behind,
    ]
    data = slow_data(60 + active_steps, in_input)
    network.fit(data, epochs=1, verbose=0, shuffle=False, callbacks=callbacks)
    slept_ms = np.reshape(in_input.slept_ms, (-1, steps_per_execution)).sum(axis=1)
    beside_ms = (clock.took_ms - slept_ms) / steps_per_execution
    first = 20 // steps_per_execution
    step_ms = np.median(beside_ms[first : first + 20])
    between_ms = 1e3 * (np.array(behind.begins[1:]) - np.array(clock.ends[:-1]))
    return np.array(in_input.slept_ms), between_ms, step_ms


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    """A fit's log directory, and what `fit` tells of it."""
    log_dir = tmp_path_factory.mktemp("single")
    return log_dir, *fit(log_dir)


@pytest.fixture(scope="module")
def in_fours(tmp_path_factory):
    """The same of four steps an execution."""
    log_dir = tmp_path_factory.mktemp("in_fours")
    return log_dir, *fit(log_dir, steps_per_execution=4)


def assert_told(found, clocked, step_ms):
    """What lies around what a clock tells is the same beside short sleeps and long ones.

    It is a part of what a step takes beside its sleep.
    """
    around_ms, is_long = found.to_numpy() - clocked, clocked > np.median(clocked)
    assert 0 <= np.nanmedian(around_ms) <= 0.4 * step_ms, (step_ms, around_ms)
    longer_ms = np.median(clocked[is_long]) - np.median(clocked[~is_long])
    differ_ms = np.nanmedian(around_ms[is_long]) - np.nanmedian(around_ms[~is_long])
    assert abs(differ_ms) <= 0.3 * longer_ms, around_ms


def test_a_row_is_a_step_of_the_window(single):
    log_dir, *_ = single
    trace = kp.read_trace(log_dir)
    assert trace.to_frame()["step"].tolist() == list(range(20, 40))
    assert (trace.steps, trace.executions, trace.steps_from) == (20, 20, "markers")
    assert trace.errors == ()


def test_a_single_step_s_figures_are_xprofs(single):
    log_dir, *_ = single
    trace = kp.read_trace(log_dir)
    ours = trace.to_frame().iloc[1:-1]
    [theirs] = [
        table(described)
        for described in xprof_tool(trace.paths, "overview_page")
        if any(column["id"] == "stepnum" for column in described.get("cols", []))
    ]
    # xprof drops the first and the last step, and ends a step with its marker.
    assert theirs["stepnum"].tolist() == [f"train {step}" for step in ours["step"]]
    assert theirs["infeedTimeMs"].astype(float).to_numpy() == pytest.approx(
        ours["input_wait_ms"].to_numpy(), abs=2e-3
    )
    marked = ours["input_wait_ms"] + ours["execution_ms"] + ours["python_ms"]
    assert theirs["stepTimeMs"].astype(float).to_numpy() == pytest.approx(
        marked.to_numpy(), abs=2e-3
    )


def test_waits_and_gaps_are_what_a_clock_tells(single):
    log_dir, in_input, between, step_ms = single
    found = kp.read_trace(log_dir).to_frame()
    assert_told(found["input_wait_ms"], in_input[20:40], step_ms)
    assert_told(found["gap_ms"], between[20:40], step_ms)


def test_several_steps_per_execution_are_told_apart(in_fours):
    log_dir, in_input, between, step_ms = in_fours
    trace = kp.read_trace(log_dir)
    found = trace.to_frame()
    assert found["step"].tolist() == list(range(20, 100))
    assert trace.executions == 20
    assert_told(found["input_wait_ms"], in_input[20:100], step_ms)
    last = found.groupby("execution").tail(1)
    assert_told(last["gap_ms"], between[5:25], step_ms)
    assert (found.drop(last.index)["gap_ms"] == 0).all()


@pytest.mark.parametrize("log_dir", ["single", "in_fours"])
def test_the_trace_and_the_always_on_split_agree_on_the_wait(log_dir, request):
    log_dir, _, between, _ = request.getfixturevalue(log_dir)
    [[*_, fit]] = fits_of(log_dir).values()
    frame = kp.read_trace(log_dir).to_frame()
    # Between two of the traced executions the first facts are written, which is not the split's.
    gaps = frame.groupby("execution")["gap_ms"].transform("max")
    usual = frame[gaps < 3 * np.percentile(between, 75)]
    assert len(usual) > 0.75 * len(frame)
    agreements = compare_with_split(usual, summarize(fit.scalars, fit.facts))
    found = {agreement.part: agreement for agreement in agreements}
    # Without tf.data's gap times the wait is part of the train function's time.
    waits = "input wait" if hasattr(tf.data.experimental, "get_model_proto") else "train function"
    for part in (waits, "between executions"):
        assert found[part].trace_ms == pytest.approx(found[part].split_ms, rel=0.5)


def test_nothing_is_written_beside_the_trace(single):
    trace = kp.read_trace(single[0])
    operations = trace.operations()
    assert operations["self_ms"].is_monotonic_decreasing
    assert operations["type"].str.contains("MatMul").any()
    assert "input-bound" in trace.xprof_verdict()
    assert trace.kernels().empty
    assert trace.memory().empty
    assert [path.name for path in trace.path.parent.iterdir()] == [trace.path.name]


def test_several_hosts_real_traces_are_read_together_by_us_and_by_xprof(single, tmp_path):
    content = kp.read_trace(single[0]).path.read_bytes()
    for host in ("a", "b"):
        (tmp_path / f"{host}.xplane.pb").write_bytes(content)
    trace = kp.read_trace(tmp_path)
    assert trace.to_frame().groupby("host")["step"].apply(list).to_dict() == {
        host: list(range(20, 40)) for host in ("a", "b")
    }
    one = kp.read_trace(tmp_path / "a.xplane.pb")
    assert trace.means == pytest.approx(one.means)
    alone, both = (t.operations().set_index("operation")["occurrences"] for t in (one, trace))
    assert both.sum() == 2 * alone.sum()
    assert "input-bound" in trace.xprof_verdict()
    assert trace.kernels().empty
    assert trace.memory().empty
    assert len(list(tmp_path.iterdir())) == 2


def test_what_xprof_cannot_read_is_said(tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(b"no trace")
    with pytest.raises(RuntimeError, match="xprof's overview_page failed on"):
        xprof_tool([path], "overview_page")


def test_a_trace_of_keras_s_own_callback_is_read(tmp_path):
    theirs = keras.callbacks.TensorBoard(tmp_path, profile_batch=(20, 30))
    programs.model().fit(
        programs.dataset(60), verbose=0, shuffle=False, epochs=1, callbacks=[theirs]
    )
    trace = kp.read_trace(tmp_path)
    assert trace.steps_from == "markers"
    assert 10 <= trace.steps <= 12
    assert sum(trace.means[part] for part in PARTS) == pytest.approx(trace.means["step_ms"])


@pytest.mark.parametrize("steps_per_execution", [1, 4])
def test_a_trace_by_hand_without_markers_is_read(tmp_path, steps_per_execution):
    network = programs.model(steps_per_execution=steps_per_execution)
    network.fit(programs.dataset(8), verbose=0, shuffle=False)
    tf.profiler.experimental.start(str(tmp_path))
    network.fit(programs.dataset(22), verbose=0, shuffle=False)
    tf.profiler.experimental.stop()
    trace = kp.read_trace(tmp_path)
    assert trace.steps_from == "functions"
    assert trace.steps == 22
    assert trace.executions == -(-22 // steps_per_execution)


@pytest.mark.filterwarnings("ignore:.*ran out of data:UserWarning")
@pytest.mark.parametrize("steps_per_execution", [1, 4])
def test_the_call_that_only_finds_the_end_of_the_data_is_no_step(tmp_path, steps_per_execution):
    """Where nobody knows the number of batches, Keras asks for one more."""

    def examples():
        yield from zip(*programs.arrays(30 * 8, 1), strict=True)

    shapes = tf.TensorSpec((8,)), tf.TensorSpec((1,))
    data = tf.data.Dataset.from_generator(examples, output_signature=shapes).batch(8)
    network = programs.model(steps_per_execution=steps_per_execution)
    profiler = kp.WindowedProfiler(tmp_path, active_steps=20)
    network.fit(data, epochs=2, verbose=0, shuffle=False, callbacks=[profiler])
    found = kp.read_trace(tmp_path).to_frame()["step"].tolist()
    assert found == list(range(20, found[-1] + 1))
    assert found[-1] in (39, 41)


def test_a_trace_of_a_loop_of_ones_own_is_read(tmp_path):
    network, optimizer = programs.model(), keras.optimizers.SGD(0.01)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((network(x) - y) ** 2)
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))

    sleeps, began = long_beside_a_step(3), [time.perf_counter()]
    for x, y in programs.dataset(2):
        train_step(x, y)
    tf.profiler.experimental.start(str(tmp_path))
    for x, y in slow_data(10, sleeps):
        train_step(x, y)
        began.append(time.perf_counter())
    tf.profiler.experimental.stop()
    found = kp.read_trace(tmp_path).to_frame()
    assert len(found) == 10
    slept_ms = np.array(sleeps.slept_ms)
    step_ms = np.median(1e3 * np.diff(began) - slept_ms)
    assert_told(found["input_wait_ms"], slept_ms, step_ms)


def test_a_real_trace_that_was_cut_off_gives_one_clear_error(single, tmp_path):
    path = tmp_path / "vm.xplane.pb"
    content = kp.read_trace(single[0]).path.read_bytes()
    for kept in (len(content) // 3, len(content) - 1):
        path.write_bytes(content[:kept])
        with pytest.raises(ValueError, match="is no whole trace"):
            kp.read_trace(tmp_path)


@pytest.mark.skipif(
    tf.__version__.startswith("2.16."), reason="its traces show no compilation of XLA's"
)
def test_xlas_compilations_have_the_names_that_are_looked_for(tmp_path):
    """Canary for `trace/host.py`: one compilation for a shape, none for a shape that was there."""

    def step(x):
        return tf.reduce_sum(x)

    step = tf.function(step, jit_compile=True, input_signature=[tf.TensorSpec((None,))])
    step(tf.ones(2))
    with tf.profiler.experimental.Profile(str(tmp_path)):
        for length in (3, 3, 4, 2):
            step(tf.ones(length))
    found = kp.read_trace(tmp_path).to_frame()
    assert found["compiled_ratio"].tolist() == [1, 0, 1, 0]
    assert (found["compile_ms"] > 0).tolist() == [True, False, True, False]
    assert (found["compile_ms"] <= found["execution_ms"]).all()
