"""What holds for each of our callbacks, and for all of them together."""

import copy
import gc
import pickle
import threading
import weakref

import keras
import numpy as np
import programs
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.capture import profiler_door
from keras_perf.observation import observation
from keras_perf.observation.of_fit import running_fits
from keras_perf.records.run.ending import Ending, How

CALLBACKS = {
    "WindowedProfiler": lambda d: [kp.WindowedProfiler(d, warmup_steps=5, active_steps=5)],
    "GPUUtilizationSampler": lambda d: [kp.GPUUtilizationSampler(d, interval_s=0.01)],
    "StepGapDetector": lambda d: [kp.StepGapDetector(d)],
    "StepsPerExecutionRecommender": lambda d: [kp.StepsPerExecutionRecommender(d)],
    "perf_callbacks": kp.perf_callbacks,
}


@pytest.fixture(params=CALLBACKS.values(), ids=CALLBACKS)
def callbacks(request, tmp_path):
    return request.param(tmp_path)


@pytest.fixture(
    params=[
        pytest.param(make, id=name, marks=() if name == "perf_callbacks" else pytest.mark.long)
        for name, make in CALLBACKS.items()
    ]
)
def together(request, tmp_path):
    """All of them; each alone where time does not matter."""
    return request.param(tmp_path)


@pytest.fixture(autouse=True)
def profiler_is_free():
    yield
    with pytest.raises(tf.errors.UnavailableError):
        tf.profiler.experimental.stop(save=False)


def fit(network, callbacks, **arguments):
    return network.fit(
        programs.dataset(), verbose=0, shuffle=False, callbacks=callbacks, **arguments
    )


def nothing_is_left(network):
    gc.collect()
    for thread in threading.enumerate():
        if thread.name.startswith("keras_perf"):
            thread.join(timeout=20)
    assert [t.name for t in threading.enumerate() if t.name.startswith("keras_perf")] == []
    assert not isinstance(
        getattr(network.train_function, "__self__", None), observation.Observation
    )
    assert not running_fits._running


def test_trains_twice_and_leaves_nothing_behind(callbacks, said):
    network = programs.model()
    for _ in range(2):
        fit(network, callbacks)
        nothing_is_left(network)
    assert not [line for line in said() if "failed" in line]


def test_sees_the_same_hooks_in_the_same_order_with_and_without(together):
    diaries = []
    for ours in ([], together):
        diary = programs.Diary()
        fit(programs.model(), [diary, *ours], validation_data=programs.dataset(3))
        diaries.append(diary.entries)
    plain, watched = diaries
    for kind in ("epoch", "test"):
        assert [e for e in watched if e[0] == kind] == [e for e in plain if e[0] == kind]
    # A trial is seen as one execution of several steps; together they are every batch once.
    begins = [batch for hook, batch in watched if hook == "begin"]
    ends = [batch for hook, batch in watched if hook == "end"]
    seen = [b for first, last in zip(begins, ends, strict=True) for b in range(first, last + 1)]
    assert seen == list(range(40))


@pytest.mark.parametrize(
    ("hook", "error"),
    [
        ("on_train_batch_begin", RuntimeError),
        ("on_train_batch_end", KeyboardInterrupt),
        ("on_epoch_end", RuntimeError),
    ],
)
def test_a_raising_callback_ends_training_and_leaves_nothing_behind(
    together, hook, error, tmp_path
):
    class Raises(keras.callbacks.Callback):
        async_safe = True

    def fail(self, index, logs=None):
        if hook == "on_epoch_end" or index >= 25:
            raise error("on purpose")

    setattr(Raises, hook, fail)
    network = programs.model()
    with pytest.raises(error, match="on purpose"):
        fit(network, [*together, Raises()])
    nothing_is_left(network)
    if len(together) > 1:
        facts = kp.diagnose(tmp_path).summary.facts
        assert facts.ending == Ending(How.RAISED, error.__name__, "on purpose")
        # An epoch that was cut off has not come to its end.
        assert facts.outside.epoch_gaps == (1 if hook == "on_epoch_end" else 0)
    fit(network, together)
    nothing_is_left(network)


class RaisesInTheSecondValidation(keras.callbacks.Callback):
    async_safe = True
    begun = 0

    def on_test_begin(self, logs=None):
        self.begun += 1

    def on_test_batch_end(self, batch, logs=None):
        if self.begun == 2 and batch == 2:
            raise KeyboardInterrupt


def test_a_validation_that_is_interrupted_is_no_validation_and_no_gap(tmp_path):
    callbacks = [RaisesInTheSecondValidation(), kp.StepGapDetector(tmp_path)]
    network = programs.model()
    with pytest.raises(KeyboardInterrupt):
        fit(network, callbacks, epochs=3, validation_data=programs.dataset(5))
    outside = kp.diagnose(tmp_path).summary.facts.outside
    assert outside is not None
    assert (outside.epoch_gaps, outside.validations) == (1, 1)
    nothing_is_left(network)


def test_a_raising_train_step_leaves_nothing_behind(together):
    def fail(x, y):
        def check(values):
            if values > 30:
                raise ValueError("bad record")
            return values

        checked = tf.ensure_shape(tf.numpy_function(check, [x], tf.float32), ())
        return checked * tf.ones((8, 8)), tf.ones((8, 1))

    data = tf.data.Dataset.range(40).map(lambda i: (tf.cast(i, tf.float32), i)).map(fail)
    network = programs.model()
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad record"):
        network.fit(data, verbose=0, shuffle=False, callbacks=together)
    nothing_is_left(network)


def test_an_interrupt_in_keras_own_loop_leaves_nothing_behind(together, monkeypatch):
    network = programs.model()
    monkeypatch.setattr(
        type(network), "reset_metrics", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        fit(network, together)
    nothing_is_left(network)


def test_a_later_fit_without_our_callbacks_is_not_observed(together):
    network = programs.model()
    fit(network, together)
    function = network.train_function
    fit(network, [])
    assert network.train_function is function
    nothing_is_left(network)


def test_can_be_pickled_and_copied_before_and_after_a_fit(callbacks):
    network = programs.model()
    for _ in range(2):
        for callback in callbacks:
            if callback.model is None:
                assert type(pickle.loads(pickle.dumps(callback))) is type(callback)
                copy.deepcopy(callback)
        fit(network, callbacks)
        for callback in callbacks:
            callback.set_model(None)


def test_works_inside_a_callback_list_inside_the_list(together):
    diary = programs.Diary()
    inner = keras.callbacks.CallbackList([*together, diary])
    network = programs.model()
    fit(network, [inner])
    nothing_is_left(network)
    assert diary.entries[-1] == ("epoch", 0)


@pytest.mark.parametrize("wrong", [None, 3, b"logs", "", "logs\0", "logs\udcff"])
def test_refuses_what_is_no_log_directory(wrong):
    for kind in (
        kp.WindowedProfiler,
        kp.GPUUtilizationSampler,
        kp.StepGapDetector,
        kp.StepsPerExecutionRecommender,
        kp.perf_callbacks,
    ):
        with pytest.raises((TypeError, ValueError), match=r"log_dir must .*, got"):
            kind(wrong)


def test_refuses_a_log_directory_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    for make in CALLBACKS.values():
        with pytest.raises(OSError, match="log_dir must be writable"):
            make(blocked / "logs")


@pytest.mark.parametrize(
    ("kind", "arguments", "error", "words"),
    [
        (kp.WindowedProfiler, {"active_steps": 0}, ValueError, "active_steps must be at least 1"),
        (kp.WindowedProfiler, {"warmup_steps": 1.5}, TypeError, "warmup_steps must be an int"),
        (kp.WindowedProfiler, {"repeat": True}, TypeError, "repeat must be an int"),
        (kp.GPUUtilizationSampler, {"interval_s": 0}, ValueError, "interval_s must be above 0"),
        (kp.GPUUtilizationSampler, {"interval_s": "1"}, TypeError, "interval_s must be a number"),
        (kp.StepsPerExecutionRecommender, {"apply": 1}, TypeError, "apply must be True or False"),
        (kp.StepsPerExecutionRecommender, {"limit": 0}, ValueError, "limit must be at least 1"),
        (kp.StepsPerExecutionRecommender, {"limit": 2.5}, TypeError, "limit must be an int"),
        (kp.GPUUtilizationSampler, {"interval_s": float("inf")}, ValueError, "and finite"),
        (kp.perf_callbacks, {"gpu": "yes"}, TypeError, "gpu must be True, False or a dict"),
    ],
)
def test_wrong_arguments_are_refused_at_construction(kind, arguments, error, words, tmp_path):
    with pytest.raises(error, match=words):
        kind(tmp_path / "logs", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_callback_of_ours_is_dropped_and_training_goes_on(tmp_path, said, monkeypatch):
    detector = kp.StepGapDetector(tmp_path)
    monkeypatch.setattr(detector, "stretch_ends", lambda *_: 1 / 0)
    network, plain = programs.model(), programs.model()
    fit(network, [detector])
    fit(plain, [])
    for mine, theirs in zip(network.weights, plain.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    [line] = [line for line in said() if "StepGapDetector failed" in line]
    assert "ZeroDivisionError" in line
    nothing_is_left(network)


def test_another_backend_is_refused_in_one_line(tmp_path, said, monkeypatch):
    detector = kp.StepGapDetector(tmp_path / "before")
    monkeypatch.setattr(keras.backend, "backend", lambda: "torch")
    detector.on_train_begin()
    assert len(said()) == 1
    assert "on TensorFlow and JAX only" in said()[0]
    callbacks = (
        kp.WindowedProfiler,
        kp.GPUUtilizationSampler,
        kp.StepGapDetector,
        kp.StepsPerExecutionRecommender,
        kp.perf_callbacks,
    )
    for made in callbacks:
        with pytest.raises(NotImplementedError, match="nothing tells it yet when its GPU"):
            made(tmp_path / "logs")
    with pytest.raises(NotImplementedError) as raised:
        kp.perf_callbacks(tmp_path / "logs")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "logs").exists()


def test_the_model_stays_reachable_for_every_callback(together):
    network = programs.model()
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.extend(callback.model is network for callback in together)

    fit(network, [*together, Look()])
    assert seen
    assert all(seen)
    assert all(callback.model is network for callback in together)


def test_a_callback_list_of_the_users_own_serves_several_fits(together):
    network = programs.model()
    own = keras.callbacks.CallbackList(together, add_history=True, model=network, steps=40)
    for _ in range(2):
        fit(network, own)
        nothing_is_left(network)


def test_a_list_of_the_users_own_holds_no_fit_that_is_over(tmp_path):
    network = programs.model()
    ours = kp.StepGapDetector(tmp_path)
    own = keras.callbacks.CallbackList([ours], add_history=True, model=network, steps=40)
    seen = []
    own.callbacks.append(Looks(ours, seen))
    own.callbacks[-1].set_model(network)
    for _ in range(3):
        fit(network, own)
    gc.collect()
    assert [each() for each in seen] == [None] * 3


class Looks(keras.callbacks.Callback):
    """Keeps whom our callback belongs to, weakly."""

    def __init__(self, ours, seen):
        super().__init__()
        self.ours, self.seen = ours, seen

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append(weakref.ref(self.ours.observation))


class InAProcess(keras.callbacks.Callback):
    """Hands the model's methods on, as a pool of processes is given them."""

    def on_epoch_end(self, epoch, logs=None):
        x, _ = programs.arrays(8)
        for method in (self.model.predict, self.model.evaluate):
            sent = pickle.loads(pickle.dumps(method))
            assert sent.__name__ == method.__name__
        sent = pickle.loads(pickle.dumps(self.model.predict))
        assert sent.__self__ is not self.model
        np.testing.assert_array_equal(sent(x, verbose=0), self.model.predict(x, verbose=0))


def test_methods_of_the_model_can_be_sent_to_another_process(tmp_path):
    network = programs.model()
    fit(network, [InAProcess(), *kp.perf_callbacks(tmp_path)])
    nothing_is_left(network)


class Samples(keras.Sequential):
    """Predicts in a way of its own only."""

    @property
    def predict(self):
        raise NotImplementedError("use sample()")


def test_what_cannot_be_observed_is_trained_without_us(together, said):
    network = Samples(programs.model().layers)
    network.compile("sgd", "mse")
    fit(network, together)
    nothing_is_left(network)
    assert "jax_state_sync" not in vars(network)


def test_a_copy_of_the_process_writes_and_waits_for_nothing(tmp_path, monkeypatch):
    network, ours = programs.model(), kp.StepGapDetector(tmp_path)

    class Forks(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            with monkeypatch.context() as child:
                child.setattr(observation.os, "getpid", lambda: -1)
                ours.observation.close(aborted=True)
            self.closed = ours.observation.closed

    forks = Forks()
    fit(network, [ours, forks])
    assert forks.closed is False


def raising_in_keras_own_loop(patch, network):
    patch.setattr(
        type(network), "reset_metrics", lambda self: (_ for _ in ()).throw(RuntimeError("theirs"))
    )
    return pytest.raises(RuntimeError, match="theirs")


def test_a_retry_after_an_error_in_keras_own_loop_is_observed_anew(together, monkeypatch, said):
    network = programs.model()
    for _ in range(2):
        with monkeypatch.context() as patch, raising_in_keras_own_loop(patch, network):
            fit(network, together)
        fit(network, together)
        nothing_is_left(network)
    assert not [line for line in said() if "failed" in line]


class RateByBatch(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = 0.001 * (1 + batch % 7)


def test_after_an_interrupt_that_is_kept_a_fit_without_us_is_left_alone(together, monkeypatch):
    weights = []
    for ours in (together, []):
        network = programs.model()
        with monkeypatch.context() as patch, raising_in_keras_own_loop(patch, network) as kept:
            fit(network, ours)
        network.fit(programs.dataset(150), verbose=0, shuffle=False, callbacks=[RateByBatch()])
        weights.append([w.numpy() for w in network.weights])
        del kept
        nothing_is_left(network)
    for mine, theirs in zip(*weights, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("hook", ["on_train_batch_begin", "on_train_batch_end"])
def test_training_inside_a_hook_is_not_counted_as_ours(hook, tmp_path):
    class Trains(keras.callbacks.Callback):
        async_safe = True

    def train(self, batch, logs=None):
        x, y = programs.arrays(1)
        self.model.train_on_batch(x, y)

    setattr(Trains, hook, train)
    fit(programs.model(), [Trains(), kp.StepGapDetector(tmp_path)])
    scalars = kp.load_scalars(tmp_path)
    assert scalars["step"].max() == 40
    assert (scalars.query("tag == 'perf/other_host_ms'")["value"] >= 0).all()


def test_a_log_directory_that_vanishes_costs_the_figures_only(together, tmp_path, said):
    network, plain = programs.model(), programs.model()
    (tmp_path / "perf").write_text("")
    fit(network, together)
    fit(plain, [])
    for mine, theirs in zip(network.weights, plain.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    nothing_is_left(network)
    assert all(callback.observation is None for callback in together)


def test_a_failing_profiler_of_ours_leaves_no_trace_open(tmp_path, said, monkeypatch):
    profiler = kp.WindowedProfiler(tmp_path, warmup_steps=5, active_steps=20)
    marker = profiler_door.step_marker

    def fails(step):
        return marker(step) if step < 12 else 1 / 0

    monkeypatch.setattr(profiler_door, "step_marker", fails)
    fit(programs.model(), [profiler])
    assert any("WindowedProfiler failed" in line for line in said())


def test_numbers_from_numpy_do_as_well(tmp_path):
    programs.model().fit(
        programs.dataset().repeat(),
        epochs=np.int64(2),
        steps_per_epoch=np.int64(40),
        verbose=0,
        shuffle=False,
        callbacks=[kp.StepGapDetector(tmp_path)],
    )
    assert kp.diagnose(tmp_path).summary.steps > 20


def test_examples_are_those_of_training_not_of_validation(tmp_path):
    programs.model().fit(
        programs.dataset(60),
        validation_data=programs.dataset(3, 2),
        epochs=2,
        verbose=0,
        shuffle=False,
        callbacks=[kp.StepGapDetector(tmp_path)],
    )
    assert kp.diagnose(tmp_path).summary.examples_per_step == 8


@pytest.mark.parametrize("accumulate", [None, 4])
def test_steps_are_counted_by_the_data_where_their_length_is_known(accumulate, tmp_path):
    optimizer = keras.optimizers.Adam(gradient_accumulation_steps=accumulate)
    programs.model(optimizer=optimizer, steps_per_execution=8).fit(
        programs.dataset(41),
        epochs=3,
        verbose=0,
        shuffle=False,
        callbacks=[kp.StepGapDetector(tmp_path)],
    )
    assert kp.load_scalars(tmp_path)["step"].max() == 123


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("tf.data", lambda: {"x": programs.dataset().repeat(), "steps_per_epoch": 40}),
        ("arrays", lambda: dict(zip("xy", programs.arrays(), strict=True), batch_size=8)),
        ("PyDataset", lambda: {"x": programs.Batches()}),
        ("generator", lambda: {"x": programs.generator(), "steps_per_epoch": 40}),
    ],
)
def test_the_arguments_of_the_calling_fit_are_found(kind, arguments, tmp_path):
    """Canary for `calling_fit.asked_of_fit`, which reads them from the frame of `fit`."""
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(detector.observation)

    detector = kp.StepGapDetector(tmp_path)
    given = arguments()
    programs.model().fit(**given, verbose=0, shuffle=False, callbacks=[detector, Look()])
    assert seen[0].times_callbacks
    assert seen[0].input_kind == kind
    assert seen[0].trials.bounds(9, 1.0).whole_executions == ("steps_per_epoch" in given)
