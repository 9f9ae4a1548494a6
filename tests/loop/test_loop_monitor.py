"""Real custom loops under a monitor."""

import gc
import threading
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import watched_loops
from programs import unbuffered
from tensorflow.python.profiler import profiler_v2

import keras_perf as kp
from keras_perf.loop import LoopMonitor
from keras_perf.observation.facts.input.dataset_graph import dataset_graph
from keras_perf.read.event_files import events, run_files
from keras_perf.records.execution import Kind
from keras_perf.records.run.ending import Ending, How

needs_gap_times = pytest.mark.skipif(
    not hasattr(tf.data.experimental, "get_model_proto"),
    reason="this TensorFlow does not tell tf.data's gap times",
)


@pytest.fixture(autouse=True)
def nothing_is_left():
    """No hook of the collector, no capture; threads are looked for by every test."""
    before = list(gc.callbacks)
    yield
    assert gc.callbacks == before
    assert profiler_v2._profiler is None


def texts(log_dir):
    """Tag → Markdown in the Text tab, of all runs."""
    return {
        value.tag: value.tensor.string_val[0].decode()
        for files in run_files(log_dir).values()
        for path in files
        for event in events(path)
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name == "text"
    }


@pytest.mark.parametrize("n", [1, 8])
def test_every_step_is_told_once(told, n, tmp_path):
    loop = watched_loops.Loop()
    calls = loop.train(loop.monitor(tmp_path, 100), 100, n=n)
    assert [(e.first_step, e.steps) for e in told] == [
        (sum(calls[:place]), steps) for place, steps in enumerate(calls)
    ]
    assert sum(calls) == int(loop.optimizer.iterations.numpy()) == 100
    assert {e.kind for e in told} == {Kind.WARMUP, Kind.STEADY}
    assert all(e.begin_ns <= e.returned_ns <= e.ready_ns <= e.end_ns for e in told)
    summary = kp.diagnose(tmp_path).summary
    assert summary.steps == sum(e.steps for e in told if e.kind is Kind.STEADY)
    assert sum(summary.parts.values()) == pytest.approx(summary.step_ms, rel=1e-5)


def assert_waited(found, slept_ms):
    """Most of what was slept for each step is found as input wait, and no more than that."""
    assert 0.7 * slept_ms < found.breakdown["input_wait"] < 1.5 * slept_ms


@needs_gap_times
@pytest.mark.timing
@pytest.mark.parametrize("n", [1, 8])
def test_slow_input_is_told_from_computing(n, tmp_path):
    loop, slept = watched_loops.Loop(), []
    # Several steps in one call compute while the next batch is asked for.
    usual_ms, paused_ms = watched_loops.usual_step_ms(n), watched_loops.step_after_a_pause_ms()
    input_ms = max(10.0, 20 * usual_ms, 6 * paused_ms)
    data = watched_loops.dataset(input_ms=input_ms, slept=slept)
    loop.train(loop.monitor(tmp_path, 120), 120, n=n, data=data)
    found = kp.diagnose(tmp_path)
    assert found.verdict == "input-bound"
    assert_waited(found, np.mean(slept))


@needs_gap_times
@pytest.mark.timing
def test_an_element_that_holds_the_batches_of_several_steps_is_one_fetch(tmp_path):
    loop, slept = watched_loops.Loop(), []
    input_ms = max(20.0, 8 * 8 * watched_loops.usual_step_ms(8))

    @tf.function
    def whole(iterator):
        x, y = next(iterator)
        for i in tf.range(8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((loop.model(x[i], training=True) - y[i]) ** 2)
            variables = loop.model.trainable_variables
            loop.optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    data = watched_loops.dataset().batch(8, drop_remainder=True)

    def slowly(x, y):
        def wait(values):
            begin = time.perf_counter()
            time.sleep(input_ms / 1e3)
            slept.append(1e3 * (time.perf_counter() - begin))
            return values

        return tf.ensure_shape(tf.numpy_function(wait, [x], tf.float32), x.shape), y

    iterator = iter(unbuffered(data.map(slowly)))
    monitor = loop.monitor(tmp_path, 800, function=whole, fetches_per_step=1 / 8)
    with monitor:
        for _ in range(100):
            with monitor.execution(iterator, 8):
                whole(iterator).numpy()
    found = kp.diagnose(tmp_path)
    assert found.verdict == "input-bound"
    assert_waited(found, np.mean(slept) / 8)


@pytest.mark.timing
def test_host_work_is_a_callback_s_of_its_owner(tmp_path):
    loop = watched_loops.Loop()
    work_s = max(20.0, 8 * watched_loops.usual_step_ms()) / 1e3
    loop.train(loop.monitor(tmp_path, 60), 60, host=lambda step: time.sleep(work_s))
    found = kp.diagnose(tmp_path)
    assert found.verdict == "callback-bound"
    assert found.summary.owners["print"] == pytest.approx(found.breakdown["callbacks"], rel=1e-5)
    [advice] = [each for each in found.recommendations if each.id == "amortize-callback"]
    assert 'with monitor.host("print")' in advice.action


@pytest.mark.fault(2, "an owner in a custom loop that no tag can hold")
def test_an_owner_may_be_any_text(tmp_path, said):
    loop = watched_loops.Loop()
    monitor, iterator = loop.monitor(tmp_path, 60), iter(watched_loops.dataset())
    with monitor:
        for _ in range(60):
            with monitor.execution(iterator, 1):
                loop.function(iterator, tf.constant(1)).numpy()
            with monitor.host("two\nlines|\x1b\udcff"):
                time.sleep(0.005)
    assert said() == []
    found = kp.diagnose(tmp_path)
    assert list(found.summary.owners) == [r"two\nlines|\x1b\udcff"]
    assert r"| two\\nlines\|\\x1b\\udcff |" in found.to_markdown()


@pytest.mark.timing
def test_a_long_evaluation_changes_no_step(told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 200)
    # Four times what the steps between two of them take.
    evaluation_s = max(0.3, 4 * 50 * watched_loops.usual_step_ms() / 1e3)
    checkpoint_s = evaluation_s / 3

    def evaluate(step):
        with monitor.outside("evaluation"):
            time.sleep(evaluation_s)
        with monitor.outside("checkpoint"):
            time.sleep(checkpoint_s)

    begin = time.perf_counter()
    loop.train(monitor, 200, every=50, between=evaluate)
    whole_s = time.perf_counter() - begin
    assert sum(e.steps for e in told) == 200
    training_s = whole_s - 4 * (evaluation_s + checkpoint_s)
    assert sum(e.cycle_ns for e in told) / 1e9 < training_s
    found = kp.diagnose(tmp_path)
    assert found.breakdown["step"] * found.summary.steps / 1e3 < training_s
    recorded = found.summary.facts.to_json()["outside"]
    assert recorded["validations"] == recorded["epoch_gaps"] == 4
    assert recorded["validation_s"] >= 4 * evaluation_s
    assert recorded["epoch_callbacks_s"]["checkpoint"] >= 4 * checkpoint_s
    causes = {(event.cause.value, event.owner) for event in found.events}
    assert {("validation", ""), ("checkpoint", "checkpoint")} <= causes
    assert "new-iterator" not in {cause for cause, _ in causes}
    assert "rarer-validation" in [each.id for each in found.recommendations]


def test_tracing_again_is_compile_time(told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 120)
    iterator = iter(watched_loops.dataset())
    with monitor:
        for step in range(120):
            one = tf.constant(1, tf.int32 if step < 80 else tf.int64)
            with monitor.execution(iterator, 1) as call:
                call.returned(loop.function(iterator, one)).numpy()
    assert [e.first_step for e in told if e.kind is Kind.TRACED] == [80]
    found = kp.diagnose(tmp_path)
    assert found.breakdown["compile"] > 0
    assert "retrace" in {event.cause.value for event in found.events}


@pytest.mark.parametrize(
    ("place", "error", "gaps"),
    [
        ("execution", RuntimeError, 60),
        # Calls that were cut off are followed by no gap.
        ("host", KeyboardInterrupt, 60),
        ("outside", RuntimeError, 61),
        ("between", KeyboardInterrupt, 61),
    ],
)
def test_what_the_user_s_code_raises_propagates_and_leaves_nothing_behind(
    place, error, gaps, tmp_path
):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 80, profiler={"active_steps": 1000}, gpu=True)
    iterator = iter(watched_loops.dataset())

    def fail_at(step, where):
        if step == 60 and where == place:
            raise error("on purpose")

    def train():
        with monitor:
            for step in range(80):
                with monitor.execution(iterator, 1):
                    fail_at(step, "execution")
                    loop.function(iterator, tf.constant(1)).numpy()
                with monitor.host("print"):
                    fail_at(step, "host")
                with monitor.outside("checkpoint"):
                    fail_at(step, "outside")
                fail_at(step, "between")

    with pytest.raises(error, match="on purpose"):
        train()
    assert monitor.observation is None
    facts = kp.diagnose(tmp_path).summary.facts
    assert facts.length.last_step in (60, 61)
    assert facts.ending == Ending(How.RAISED, error.__name__, "on purpose")
    assert facts.outside.epoch_gaps == gaps


@pytest.mark.parametrize(("owner", "gaps"), [("evaluation", 3), ("checkpoint", 4)])
def test_an_evaluation_that_is_cut_off_counts_as_none(owner, gaps, tmp_path):
    monitor, iterator = watched_loops.Loop().monitor(tmp_path, 40), iter(watched_loops.dataset())

    def train():
        with monitor:
            for step in range(40):
                with monitor.execution(iterator, 1):
                    next(iterator)
                if step % 10 == 9:
                    with monitor.outside(owner):
                        if step == 39:
                            raise KeyboardInterrupt("on purpose")

    with pytest.raises(KeyboardInterrupt, match="on purpose"):
        train()
    assert kp.diagnose(tmp_path).summary.facts.outside.epoch_gaps == gaps


def test_a_loop_that_goes_on_after_an_error_is_left_alone(tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 40)
    iterator = iter(watched_loops.dataset())
    with monitor:
        with pytest.raises(RuntimeError), monitor.execution(iterator, 1):
            raise RuntimeError("on purpose")
        with monitor.execution(iterator, 3, left=10) as call:
            loop.function(iterator, tf.constant(call.steps))
        with monitor.host("print"), monitor.outside("evaluation"):
            pass
    assert call.steps == 3


@pytest.mark.timing
def test_the_end_of_the_data_is_no_error_of_the_training(told, tmp_path):
    loop, slept = watched_loops.Loop(), []
    monitor = loop.monitor(tmp_path, 60)
    input_ms = max(20.0, 8 * watched_loops.usual_step_ms())
    data = watched_loops.dataset(input_ms=input_ms, slept=slept).take(20)

    def to_the_end(iterator):
        while True:
            with monitor.execution(iterator, 1):
                loop.function(iterator, tf.constant(1)).numpy()

    with monitor:
        for _ in range(3):
            with pytest.raises(tf.errors.OutOfRangeError):
                to_the_end(iter(data))
    assert [e.first_step for e in told] == list(range(60))
    found = kp.diagnose(tmp_path)
    assert found.summary.facts.to_json()["outside"]["epoch_gaps"] == 3
    if hasattr(tf.data.experimental, "get_model_proto"):
        assert_waited(found, np.mean(slept))


def of_length(batches, known):
    """A dataset of so many batches, which TensorFlow knows or not."""
    data = watched_loops.dataset().take(batches)
    return data if known else data.filter(lambda *_: True)


@needs_gap_times
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("n", [1, 8])
def test_what_a_call_has_run_when_it_meets_the_end_of_the_data_counts(n, known, told, tmp_path):
    loop, data = watched_loops.Loop(), of_length(43, known)

    def train(monitor, iterator):
        while True:
            with monitor.execution(iterator, n):
                loop.function(iterator, tf.constant(n)).numpy()

    with loop.monitor(tmp_path) as monitor:
        for number in range(1, 4):
            with pytest.raises(tf.errors.OutOfRangeError):
                train(monitor, iter(data))
            assert monitor.observation.step == 43 * number
    assert sum(e.steps for e in told) == 3 * 43
    assert all(e.end_ns > e.begin_ns for e in told)
    facts = kp.diagnose(tmp_path).summary.facts
    assert (facts.length.last_step, facts.outside.epoch_gaps) == (3 * 43, 3)
    assert facts.length.loop_pass_steps == 43


@needs_gap_times
@pytest.mark.parametrize("known", [True, False])
def test_a_call_that_finds_no_batch_and_is_left_by_break_never_was(known, told, tmp_path):
    loop, run, data = watched_loops.Loop(), 0, of_length(5, known)
    with loop.monitor(tmp_path) as monitor:
        for _ in range(6):
            iterator = iter(data)
            while True:
                with monitor.execution(iterator, 1):
                    batch = next(iterator, None)
                    if batch is None:
                        break
                    loop.model(batch[0]).numpy()
                    run += 1
    assert sum(e.steps for e in told) == run == 30
    facts = kp.diagnose(tmp_path).summary.facts
    assert not facts.settings.fetches_rarely
    assert (facts.length.last_step, facts.length.loop_pass_steps) == (30, 5)


@needs_gap_times
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_steps_whose_batches_were_fetched_before_count(known, inside, told, tmp_path):
    loop, run, data = watched_loops.Loop(), 0, of_length(6, known)
    with loop.monitor(tmp_path) as monitor:
        for _ in range(2):
            iterator = iter(data)
            batch = next(iterator)
            while batch is not None:
                with monitor.execution(iterator, 1):
                    loop.model(batch[0]).numpy()
                    run += 1
                    batch = next(iterator, None) if inside else batch
                batch = batch if inside else next(iterator, None)
                if run % 6 == 1:
                    with monitor.outside("evaluation"):
                        pass
        assert monitor.observation.step == run == 12
    assert sum(e.steps for e in told) == 12


@needs_gap_times
def test_the_end_of_another_iterator_is_no_pass_of_the_one_that_was_given(tmp_path):
    loop, others = watched_loops.Loop(), iter(tf.data.Dataset.range(20))
    iterator = iter(watched_loops.dataset())

    def train(monitor):
        while True:
            with monitor.execution(iterator, 1):
                next(others)
                loop.function(iterator, tf.constant(1)).numpy()

    with loop.monitor(tmp_path) as monitor, pytest.raises(StopIteration):
        train(monitor)
    assert kp.diagnose(tmp_path).summary.facts.length.loop_pass_steps == 0


@pytest.mark.parametrize("marked", [True, False])
def test_on_a_gpu_only_a_marked_return_tells_dispatch(marked, told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 400)
    iterator = iter(watched_loops.dataset())
    with monitor:
        monitor.observation._on_gpu = True
        for _ in range(50):
            with monitor.execution(iterator, 8) as call:
                loss = loop.function(iterator, tf.constant(8))
                if marked:
                    call.returned(loss)
                loss.numpy()
    assert all((e.returned_ns > e.begin_ns) == marked for e in told)
    if hasattr(tf.data.experimental, "get_model_proto"):
        assert ("dispatch" in kp.diagnose(tmp_path).summary.parts) == marked


def test_several_replicas_are_split_and_tried_too(processes, tmp_path):
    script = Path(__file__).with_name("mirrored_loop.py")
    code, told = processes.script(script, tmp_path)
    assert code == 0, told[-2000:]
    assert "equal" in told


def test_a_window_holds_the_steps_that_it_says(tmp_path):
    loop = watched_loops.Loop()
    window = {"warmup_steps": 16, "active_steps": 12}
    loop.train(loop.monitor(tmp_path, 100, first_step=200, profiler=window), 100, n=4)
    [capture] = kp.diagnose(tmp_path).summary.facts.to_json()["captures"]
    assert (capture["first_step"], capture["last_step"]) == (216, 228)
    trace = kp.read_trace(tmp_path)
    assert (trace.steps, trace.executions, trace.steps_from) == (12, 3, "markers")


def test_an_evaluation_ends_a_window(tmp_path, said):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 60, profiler={"warmup_steps": 10, "active_steps": 40})

    def evaluate(step):
        with monitor.outside("evaluation"):
            pass

    loop.train(monitor, 60, every=30, between=evaluate)
    [capture] = kp.diagnose(tmp_path).summary.facts.to_json()["captures"]
    assert (capture["first_step"], capture["last_step"]) == (10, 30)
    assert any("20 steps early, because validation begins" in line for line in said())


def test_the_gpu_sampler_knows_the_phases(tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 400, gpu={"interval_s": 0.02})

    def evaluate(step):
        with monitor.outside("evaluation"):
            time.sleep(0.2)

    loop.train(monitor, 400, every=200, between=evaluate, host=lambda step: time.sleep(0.002))
    assert "host/process_cpu_pct" in set(kp.load_scalars(tmp_path)["tag"])


@pytest.mark.timing
def test_a_tiny_model_is_told_to_run_more_steps_per_call(tracing_is_cheap, told, tmp_path):
    loop, other = watched_loops.Loop(), watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 1200, steps_per_execution=True)
    calls = loop.train(monitor, 1200, every=400, host=lambda step: None)
    record = monitor.recommendation
    assert 1 < record.steps_per_execution <= 256
    assert "steps_per_call=" in record.reason
    assert "Called once per" in record.reason
    assert "print" in record.reason
    # Another number of steps is no other function: nothing was traced for the trials.
    assert loop.function.experimental_get_tracing_count() == 1
    assert record.evidence["extra_traces"] == 0
    assert record.evidence["tracing_s"] == 0.0
    assert max(calls) >= 16
    assert sum(calls) == 1200
    assert {e.steps for e in told if e.kind is Kind.TRIAL} == set(calls) - {1}
    advice = [each.action for each in kp.diagnose(tmp_path).recommendations]
    command = f"python train.py --steps-per-call {record.steps_per_execution} "
    assert any(command in action for action in advice)
    other.train(other.monitor(tmp_path / "other", 1200, gaps=False), 1200)
    for mine, theirs in zip(loop.model.weights, other.model.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


def python_number(loop):
    inner = loop.function
    return tf.function(lambda iterator, steps: inner(iterator, tf.constant(steps))), int


def one_or_many(loop):
    inner = loop.function

    @tf.function
    def run(iterator, steps):
        return inner(iterator, tf.constant(1) if steps is None else steps)

    return run, lambda steps: tf.constant(steps) if steps > 1 else None


@pytest.mark.fault(1, "a custom loop whose function is traced for each number of steps")
@pytest.mark.parametrize("make", [python_number, one_or_many])
def test_a_function_that_another_number_would_trace_again_is_not_tried(
    make, tracing_is_cheap, told, tmp_path
):
    function, as_given = make(watched := watched_loops.Loop())
    monitor = watched.monitor(tmp_path, 1200, function=function, steps_per_execution=True)
    iterator, step = iter(watched_loops.dataset()), 0
    with monitor:
        while step < 1200:
            with monitor.execution(iterator, 1, left=400 - step % 400) as call:
                call.returned(function(iterator, as_given(call.steps))).numpy()
            step += call.steps
    assert "would trace the loop's function again" in monitor.recommendation.reason
    assert function.experimental_get_tracing_count() == 1
    assert {e.steps for e in told} == {1}


@pytest.mark.timing
def test_applied_the_calls_are_as_long_as_what_is_left_allows(tracing_is_cheap, told, tmp_path):
    told.clear()
    loop = watched_loops.Loop()
    choice = {"apply": True, "limit": 32}
    monitor = loop.monitor(tmp_path, 3000, steps_per_execution=choice)
    calls = loop.train(monitor, 3000, every=250)
    chosen = monitor.recommendation.steps_per_execution
    assert chosen > 1
    assert sum(calls) == 3000
    applied = [e for e in told if e.kind is Kind.STEADY and e.steps > 1]
    assert {e.steps for e in applied} >= {chosen}
    assert kp.diagnose(tmp_path).summary.facts.to_json()["steps_per_execution_trial"]["applied"]


@needs_gap_times
@pytest.mark.timing
def test_applied_the_cost_of_a_call_is_shared_by_its_steps(tracing_is_cheap, told, tmp_path):
    loop = watched_loops.Loop()
    choice = {"apply": True, "limit": 256}
    monitor = loop.monitor(tmp_path, 12000, steps_per_execution=choice)
    loop.train(monitor, 12000, every=3000)
    chosen = monitor.recommendation
    saved_ms = np.ptp(list(chosen.evidence["trials"].values()))
    assert chosen.steps_per_execution >= 8
    scalars = kp.load_scalars(tmp_path)
    dispatch = scalars[scalars.tag == "perf/dispatch_ms"]
    assert dispatch.value.iloc[-1] < 0.4 * saved_ms


def test_no_call_has_more_steps_than_are_left(tmp_path):
    loop = watched_loops.Loop()
    iterator = iter(watched_loops.dataset())
    with loop.monitor(tmp_path, 100) as monitor, monitor.execution(iterator, 16, left=8) as call:
        assert call.steps == 8


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"worker": 1}, "several workers would have to try at the same steps"),
        ({"steps": None}, "the number of steps is not known"),
        ({"function": None}, "another number of steps could trace"),
        ({"fetches_per_step": 1 / 16}, "an element of the iterator holds several steps"),
    ],
)
def test_where_no_other_number_can_be_tried_it_is_said_why(arguments, why, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, **{"steps": 200, "steps_per_execution": True, **arguments})
    assert set(loop.train(monitor, 200)) == {1}
    assert monitor.recommendation.reason.startswith(f"not tried: {why}")


def test_without_a_word_on_what_is_left_no_call_is_longer(tracing_is_cheap, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 200, steps_per_execution=True)
    iterator = iter(watched_loops.dataset())
    with monitor:
        for _ in range(200):
            with monitor.execution(iterator, 1) as call:
                assert call.steps == 1
                loop.function(iterator, tf.constant(1)).numpy()
    reason = monitor.recommendation.reason
    assert "no call may run more steps than it does; execution(iterator, steps, left=...)" in reason


def test_the_context_describes_the_loop(tmp_path):
    loop = watched_loops.Loop()
    arguments = {"examples_per_step": 8, "jit_compile": False, "first_step": 40}
    loop.train(loop.monitor(tmp_path, 100, **arguments), 60)
    context = kp.diagnose(tmp_path).summary.facts.to_json()
    assert (context["driver"], context["strategy"], context["replicas"]) == (
        "loop", "_DefaultDistributionStrategy", 1,
    )  # fmt: skip
    assert (context["first_step"], context["last_step"]) == (40, 100)
    assert context["trainable_parameters"] == context["parameters"] == 8 * 16 + 16 + 16 + 1
    assert (context["examples_per_step"], context["jit_compile"]) == (8, False)
    # The canary of the private `_dataset` of an iterator.
    found = kp.diagnose(tmp_path).summary.facts.input.dataset
    assert found == dataset_graph(watched_loops.dataset())
    assert "perf/examples_per_sec" in set(kp.load_scalars(tmp_path)["tag"])
    assert "perf/diagnosis" in texts(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": None}, "model must be a keras.Model, got NoneType"),
        ({"strategy": "mirrored"}, "strategy must be a tf.distribute.Strategy or None, got str"),
        ({"exchange": 3}, "exchange must have pause.. and totals.., got int"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"first_step": -1}, "first_step must be at least 0, got -1"),
        ({"examples_per_step": 0}, "examples_per_step must be above 0"),
        ({"fetches_per_step": "4"}, "fetches_per_step must be a number, got str '4'"),
        ({"jit_compile": "yes"}, "jit_compile must be True or False, got str 'yes'"),
        ({"worker": -1}, "worker must be at least 0, got -1"),
        ({"function": print}, "function must be a tf.function"),
        ({"gpu": {"epoch_line": True}}, "gpu must be without epoch_line"),
        ({"profiler": {"active_steps": 0}}, "active_steps must be at least 1, got 0"),
        ({"gaps": 1}, "gaps must be True, False or a dict"),
    ],
)
def test_a_wrong_argument_is_named(arguments, message, tmp_path):
    loop = watched_loops.Loop()
    with pytest.raises((TypeError, ValueError), match=message):
        loop.monitor(tmp_path, **{"steps": 10, **arguments})


@pytest.mark.parametrize("name", ["logs\0", "logs\udcff"])
def test_a_log_directory_that_no_file_can_be_in_is_refused(name):
    with pytest.raises(ValueError, match="log_dir must be a name in Unicode without NUL, got"):
        watched_loops.Loop().monitor(name, 10)


def test_a_failure_of_ours_is_said_once_and_training_goes_on(tmp_path, said, monkeypatch):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 60)
    monkeypatch.setattr("keras_perf.backends.on_tensorflow.PipelineModel", lambda iterator: 1 / 0)
    loop.train(monitor, 60, host=lambda step: None)
    assert int(loop.optimizer.iterations.numpy()) == 60
    [line] = said()
    assert "LoopMonitor failed (ZeroDivisionError" in line
    assert "the rest of this training is not observed" in line


def test_an_exchange_that_cannot_be_read_costs_its_figures_only(tmp_path, said):
    class Broken:
        def pause(self):
            """Nothing to do."""

        def totals(self):
            raise RuntimeError("on purpose")

    loop = watched_loops.Loop()
    loop.train(loop.monitor(tmp_path, 60, exchange=Broken()), 60)
    [line] = said()
    assert "reading the exchange's totals failed" in line
    assert kp.diagnose(tmp_path).summary.steps > 20


def test_of_nested_work_the_outer_owner_has_the_time(told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 30)

    def host(step):
        with monitor.host("inner"), monitor.outside("evaluation"):
            pass

    loop.train(monitor, 30, host=host)
    assert {owner for e in told for owner, _ in e.owners} == {"print"}
    assert sum(e.steps for e in told) == 30


def test_no_trial_runs_past_the_end_of_the_data(told, tmp_path):
    """A call that meets it raises, and the loop would not count the steps that it has run."""
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 2000, steps_per_execution=True)
    data = watched_loops.dataset().take(40)
    with monitor:
        for _ in range(50):
            iterator, step = iter(data), 0
            while step < 40:
                with monitor.execution(iterator, 1, left=1000) as call:
                    call.returned(loop.function(iterator, tf.constant(call.steps)))
                step += call.steps
            assert step == 40
    assert {e.kind for e in told} >= {Kind.STEADY, Kind.TRIAL}
    assert sum(e.steps for e in told) == 2000
    assert monitor.recommendation.evidence
    assert monitor.recommendation.steps_per_execution <= 40


def test_what_another_thread_does_beside_the_loop_takes_no_step_from_it(told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 30)
    begun, ends = threading.Event(), threading.Event()

    def saves():
        with monitor.outside("checkpoint"):
            begun.set()
            ends.wait(600)

    saving = threading.Thread(target=saves)

    def host(step):
        if step == 5:
            saving.start()
            begun.wait(600)

    loop.train(monitor, 30, host=host)
    ends.set()
    saving.join()
    assert sum(e.steps for e in told) == 30
    assert kp.diagnose(tmp_path).summary.facts.outside.epoch_callbacks_s == {}


def test_what_is_kept_and_used_again_inside_of_other_work_counts_once(told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 30)
    kept, iterator = monitor.outside("evaluation"), iter(watched_loops.dataset())
    with monitor:
        for step in range(30):
            with monitor.execution(iterator, 1) as call:
                call.returned(loop.function(iterator, tf.constant(1)))
            if step == 20:
                with kept:
                    """Alone."""
            with monitor.host("print"), kept:
                """A part of it."""
    assert kp.diagnose(tmp_path).summary.facts.outside.validations == 1


def test_what_is_inside_of_a_call_or_of_an_evaluation_is_a_part_of_it(told, tmp_path):
    loop = watched_loops.Loop()
    monitor = loop.monitor(tmp_path, 30)
    iterator = iter(watched_loops.dataset())
    with monitor:
        for step in range(30):
            with monitor.execution(iterator, 1) as call, monitor.host("print"):
                loss = loop.function(iterator, tf.constant(1))
                call.returned(call.returned(loss))
            if step == 20:
                with monitor.outside("evaluation"), monitor.execution(iterator, 5) as inner:
                    assert inner.steps == 5
            with monitor.execution(iterator, 0):
                """Nothing is left to be done."""
    assert [e.steps for e in told] == [1] * 30
    assert {e.owners for e in told} == {()}
    assert kp.diagnose(tmp_path).summary.facts.to_json()["outside"]["validations"] == 1


def test_a_monitor_outside_of_its_with_is_silent(tmp_path):
    monitor = LoopMonitor(tmp_path, model=keras.Sequential([keras.layers.Dense(1)]))
    with monitor.execution(None, 5, left=9) as call, monitor.host("print"):
        assert call.returned(call.steps) == 5
    with pytest.raises(kp.read.event_files.NoRunError):
        kp.diagnose(tmp_path)
