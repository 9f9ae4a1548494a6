"""Callbacks of a `fit` are left out on trial: copies of those that may be called again."""

import logging
import tempfile
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_perf as kp
from keras_perf.analyse.training import newest_training
from keras_perf.callbacks import copied_callbacks
from keras_perf.callbacks.copied_callbacks import copied
from keras_perf.observation.facts.hooks.called_again import why_not_again
from keras_perf.trials.measuring import side_by_side
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.train_functions.restored import KeptState, build
from keras_perf.trials.training import budget, changes, running
from keras_perf.trials.training.setup import Setup

X = np.arange(1600.0, dtype="float32").reshape(200, 8) / 1600
LOG = logging.getLogger("of_the_user")
calls = []
count = 0
wait_s = 0.0


class Hook(keras.callbacks.Callback):
    """Others here say what is done in a batch."""


class Keeps(Hook):
    """Waits, and keeps what it has seen: nothing of that lasts in a copy."""

    def __init__(self):
        super().__init__()
        self.count, self.losses, self.rate, self.best = 0, [], 0.0, {"loss": np.inf}

    def on_train_batch_end(self, batch, logs=None):
        self.count += 1
        self.losses.append(logs["loss"])
        self.rate = float(self.model.optimizer.learning_rate)
        self._best(np.mean(self.losses))
        time.sleep(wait_s)

    def _best(self, loss):
        self.best["loss"] = min(self.best["loss"], loss)


class Prints(Hook):
    def on_train_batch_end(self, batch, logs=None):
        print(logs)


class Logs(Hook):
    def on_train_batch_end(self, batch, logs=None):
        LOG.info("batch")


class Stops(Hook):
    def on_batch_end(self, batch, logs=None):
        self.model.stop_training = batch > 1e9


class SetsTheRate(Hook):
    def on_train_batch_begin(self, batch, logs=None):
        self._set()

    def _set(self):
        self.model.optimizer.learning_rate = 1e-3


class CallsOthers(Hook):
    def on_train_batch_end(self, batch, logs=None):
        calls.append(batch)


class Counts(Hook):
    def on_train_batch_end(self, batch, logs=None):
        global count
        count += 1


class Draws(Hook):
    def on_train_batch_end(self, batch, logs=None):
        np.random.rand()


class HoldsAFile(Hook):
    def __init__(self):
        super().__init__()
        self.file = tempfile.SpooledTemporaryFile()  # noqa: SIM115

    def on_train_batch_end(self, batch, logs=None):
        self.file.seek(0)


class Imports(Hook):
    def on_train_batch_end(self, batch, logs=None):
        import shutil

        shutil.disk_usage("/")


def model():
    made = keras.Sequential([keras.Input((8,)), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
    made.compile("adam", "mse", jit_compile=False)
    return made


@pytest.mark.parametrize(
    ("callback", "named"),
    [
        (Prints(), "Prints.on_train_batch_end names print"),
        (Logs(), "Logs.on_train_batch_end uses LOG"),
        (Stops(), "Stops.on_batch_end names stop_training"),
        (SetsTheRate(), "SetsTheRate.on_train_batch_begin names learning_rate"),
        (CallsOthers(), "CallsOthers.on_train_batch_end uses calls"),
        (Counts(), "Counts.on_train_batch_end names count"),
        (Draws(), "Draws.on_train_batch_end draws random numbers"),
        (HoldsAFile(), "HoldsAFile.on_train_batch_end uses file"),
        (Imports(), "Imports.on_train_batch_end names shutil"),
        (
            keras.callbacks.ModelCheckpoint("never.keras", save_freq=10**9),
            "ModelCheckpoint.on_train_batch_end is a library's",
        ),
        (
            keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: calls.append(1)),
            "LambdaCallback.on_train_batch_end uses calls",
        ),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, keras.callbacks.Callback) else "",
)
def test_what_may_write_or_steer_is_not_called_again_and_named(callback, named):
    callback.set_model(model())
    assert str(why_not_again(callback)).startswith(named)
    found, [left] = copied([callback])
    assert found == ()
    assert (left.id, left.where) == ("amortize-callback", type(callback).__name__)


def test_a_copy_has_a_state_of_its_own_and_the_same_model():
    callback = Keeps()
    callback.set_model(model())
    [own], left = copied([callback, callback])
    own.on_train_batch_end(0, {"loss": 2.0})
    assert left == ()
    assert (own.count, own.losses, own.best) == (1, [2.0], {"loss": 2.0})
    assert (callback.count, callback.losses, callback.best) == (0, [], {"loss": np.inf})
    assert own.model is callback.model
    assert type(own) is Keeps


def test_of_a_callback_that_holds_much_no_copy_is_made(monkeypatch):
    callback = Keeps()
    callback.set_model(model())
    callback.losses = [np.zeros(300)]
    monkeypatch.setattr(copied_callbacks, "MOST_BYTES", 2000)
    found, [left] = copied([callback])
    assert found == ()
    assert left.why == "it cannot be copied: ValueError: it holds 2.37 KiB"


def test_what_computes_alone_and_what_keras_does_are_called_again():
    plain = keras.callbacks.LambdaCallback(on_train_batch_end=lambda *_: time.sleep(0))
    found, left = copied([plain, keras.callbacks.TerminateOnNaN(), keras.callbacks.ProgbarLogger()])
    assert [type(each).__name__ for each in found] == ["LambdaCallback", "TerminateOnNaN"]
    assert left == ()


def trained(log_dir, callbacks, tries=True, **settings):
    keras.utils.set_random_seed(1)
    made = model()
    data = tf.data.Dataset.from_tensor_slices((X, X[:, :1])).shuffle(200, seed=2).batch(8)
    ours = kp.perf_callbacks(
        log_dir,
        profiler=False,
        gpu=False,
        steps_per_execution=False,
        summary=False,
        try_advice={"budget_s": 20.0, **settings} if tries else False,
    )
    made.fit(data, epochs=3, shuffle=False, verbose=0, callbacks=[*callbacks, *ours])
    made.fit(data, epochs=1, shuffle=False, verbose=0)
    return made.get_weights()


@pytest.fixture
def short_slices(monkeypatch):
    for module in (side_by_side, running):
        monkeypatch.setattr(module, "SLICE_S", 0.01)
    monkeypatch.setattr(budget, "PAIR_S", (0.02, 0.05))
    # What else can be tried takes its time.
    for other in ("_xla", "_larger_batch", "_several_steps"):
        monkeypatch.setattr(changes, other, lambda *_: iter(()))


@pytest.mark.timing
@pytest.mark.usefixtures("short_slices")
def test_what_a_callback_costs_is_measured_without_it(monkeypatch, tmp_path):
    begin = time.perf_counter()
    trained(tmp_path / "pace", [], tries=False)
    usual_s = (time.perf_counter() - begin) / 100
    monkeypatch.setattr(f"{__name__}.wait_s", max(0.005, usual_s))
    callback = Keeps()
    trained(tmp_path, [callback, Prints()])
    found = newest_training(tmp_path).summary()
    trials = found.facts.advice_trials
    [out] = (each for each in trials.changes if each.where == "Keeps")
    assert out.id == "amortize-callback"
    assert out.low > 1.2
    assert out.before_ms - out.after_ms > 500 * wait_s
    assert "Tried on this training: a step took" in str(kp.diagnose(tmp_path))


@pytest.mark.usefixtures("short_slices")
def test_callbacks_and_weights_are_as_without_trials_and_what_was_left_out_is_named(
    tmp_path, capsys
):
    callback = Keeps()
    weights = trained(tmp_path / "tried", [callback, Prints()], budget_s=4.0)
    printed = capsys.readouterr().out
    plain = Keeps()
    others = trained(tmp_path / "plain", [plain, Prints()], tries=False)
    assert printed == capsys.readouterr().out
    assert vars(callback).keys() == vars(plain).keys()
    assert (callback.count, callback.losses, callback.best) == (
        plain.count,
        plain.losses,
        plain.best,
    )
    for one, other in zip(weights, others, strict=True):
        np.testing.assert_array_equal(one, other)
    trials = newest_training(tmp_path / "tried").summary().facts.advice_trials
    [left] = (each for each in trials.not_tried if each.where == "Prints")
    assert "names print: called again, it may write, or steer training" in left.why
    assert "Prints.on_train_batch_end names print" in str(kp.diagnose(tmp_path / "tried"))


def test_steps_are_counted_on_through_slices(monkeypatch):
    monkeypatch.setattr(running, "SLICE_S", 0.005)
    seen = []

    class Sees(Hook):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(batch)

    trained_model, callback = model(), Sees()
    callback.set_model(trained_model)
    graph = PipelineGraph.of(tf.data.Dataset.from_tensor_slices((X, X[:, :1])).batch(8).repeat())
    setup = Setup(trained_model, graph, False, False, callbacks=(callback,))
    build(trained_model, graph.dataset())
    training = running.RunningTraining(setup, running.TrainFunctions(KeptState(trained_model)))
    training.settle()
    for _ in range(3):
        training.step_ms()
    assert len(seen) > 6
    assert seen == [*range(len(seen))]
