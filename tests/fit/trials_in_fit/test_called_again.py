"""Hooks of batches are called again only where all that their code names is known."""

import functools
import random
import time
from typing import ClassVar

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_perf.callbacks.copied_callbacks import copied
from keras_perf.observation.facts.hooks.called_again import why_not_again

SEEN = []
SCALE = 2.0


def model():
    made = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    made.compile("adam", "mse", jit_compile=False)
    return made


def scaled(loss):
    return SCALE * np.mean(loss)


class Hook(keras.callbacks.Callback):
    """Holds some of everything; others here say what is done in a batch."""

    shared: ClassVar[list] = []
    limit = 3

    def __init__(self, **held):
        super().__init__()
        self.count, self.losses, self.best = 0, [], {"loss": np.inf}
        self.__dict__ |= held


class Writes:
    def __call__(self, batch, logs):
        open("never", "w").close()

    def write(self, batch, logs):
        self(batch, logs)


def hook(function, **held):
    """A callback with this function as its method."""
    kind = type("Slow", (Hook,), {"on_train_batch_end": function})
    return kind(**held)


def profiles(self, batch, logs=None):
    tf.profiler.experimental.start("never")


def removes(self, batch, logs=None):
    tf.io.gfile.remove("never")


def assigns_by_keras(self, batch, logs=None):
    keras.backend.clear_session()


def of_the_class(self, batch, logs=None):
    self.shared.append(batch)


def into_the_model(self, batch, logs=None):
    self.model.seen.append(batch)


def set_on_the_model(self, batch, logs=None):
    self.model.count = batch


def added_on_the_optimizer(self, batch, logs=None):
    self.model.optimizer.learning_rate += 1.0


def through_a_variable(self, batch, logs=None):
    found = self.model
    found.seen.append(batch)


def through_a_branch(self, batch, logs=None):
    (SEEN if batch else self.losses).append(batch)


def through_a_choice(self, batch, logs=None):
    (logs if batch else self).count += batch


def with_a_default(self, batch, logs=None, seen=[]):  # noqa: B006
    seen.append(batch)


def element_of_a_global(self, batch, logs=None):
    SEEN[0] = batch


def of_a_weight(self, batch, logs=None):
    for weight in self.model.weights:
        weight.assign(weight * 0)


def calls_what_it_holds(self, batch, logs=None):
    self.held(batch, logs)


def gives_itself(self, batch, logs=None):
    scaled(self)


def calls_the_model(self, batch, logs=None):
    self.model(np.zeros((1, 2)))


def around():
    seen = []

    def keeps(self, batch, logs=None):
        seen.append(batch)

    return keeps


def nonlocal_count():
    count = 0

    def counts(self, batch, logs=None):
        nonlocal count
        count += 1

    return counts


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (profiles, "start"),
        (removes, "remove"),
        (assigns_by_keras, "clear_session"),
        (of_the_class, "shared"),
        (into_the_model, "seen"),
        (set_on_the_model, "count"),
        (added_on_the_optimizer, "learning_rate"),
        (through_a_variable, "model"),
        (through_a_branch, "SEEN"),
        (through_a_choice, "self"),
        (with_a_default, "with_a_default"),
        (element_of_a_global, "SEEN"),
        (of_a_weight, "assign"),
        (gives_itself, "self"),
        (calls_the_model, "model"),
        (around(), "seen"),
        (nonlocal_count(), "count"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_may_last_is_named(function, name):
    callback = hook(function)
    callback.set_model(model())
    assert f" {name}" in str(why_not_again(callback))
    assert copied([callback])[0] == ()


@pytest.mark.parametrize(
    "held",
    [
        Writes(),
        Writes().write,
        functools.partial(Writes().write, 1),
        keras.Variable(1.0),
        type("Own", (list,), {})(),
        np.array([Writes()]),
        [Writes()],
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_is_held_and_no_data_is_named(held):
    callback = hook(calls_what_it_holds, held=held)
    callback.set_model(model())
    assert " held" in str(why_not_again(callback))


@pytest.mark.parametrize("function", [Writes(), Writes().write, functools.partial(scaled, 1)])
def test_a_lambda_callback_of_an_object_is_not_called_again(function):
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=function)
    callback.set_model(model())
    assert why_not_again(callback) is not None


@pytest.mark.parametrize("name", ["set_model", "set_params"])
def test_what_keras_calls_for_a_list_is_its_own(name):
    class Told(Hook):
        def on_train_batch_end(self, batch, logs=None):
            self.count += 1

    setattr(Told, name, lambda self, told: SEEN.append(told))
    assert f" {name}" in str(why_not_again(Told()))
    assert SEEN == []


@pytest.mark.parametrize("name", ["__getattr__", "__setattr__", "model", "async_safe"])
def test_what_is_asked_beside_hooks_is_keras_s_own(name):
    kind = type("Told", (Hook,), {name: property(lambda self: SEEN.append(name))})
    callback = kind.__new__(kind)
    assert f" {name}" in str(why_not_again(callback))
    assert SEEN == []


def test_no_copy_is_made_that_ends_what_it_shares():
    class Closes(Hook):
        def on_train_batch_end(self, batch, logs=None):
            self.count += 1

        def __del__(self):
            self.count = 0

    assert " __del__" in str(why_not_again(Closes()))


def test_another_model_is_not_copied_and_random_states_are_as_before():
    callback = hook(calls_what_it_holds, held=model())
    callback.set_model(model())
    python, numpy = random.getstate(), np.random.get_state()
    found, [left] = copied([callback])
    assert found == ()
    assert "uses held" in left.why
    assert random.getstate() == python
    assert all(map(np.array_equal, np.random.get_state(), numpy))


def test_what_computes_on_its_own_data_is_called_again():
    class Computes(Hook):
        def on_train_batch_begin(self, batch, logs=None):
            self.begin = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            logs = logs or {}
            self.count += 1
            self.losses.append(float(logs.get("loss", 0.0)))
            self.best["loss"] = min(self.best["loss"], scaled(self.losses))
            self.best["batch"] += 1
            if self.count % self.limit == 0:
                norms = [float(keras.ops.norm(w)) + self.count for w in self.model.weights]
                self.best["norms"] = sorted(norms, key=lambda each: -each)
                self.best["rate"] = self.model.optimizer.learning_rate.numpy()
                self.best["mean"] = np.mean([w.mean() for w in self.model.get_weights()])
                self.best["seconds"] = self._since()

        def _since(self):
            return f"{time.perf_counter() - self.begin:.1f}"

    callback = Computes(begin=0.0)
    callback.best["batch"] = 0
    callback.set_model(model())
    assert why_not_again(callback) is None
    [own], _ = copied([callback])
    for batch in range(3):
        own.on_train_batch_begin(batch)
        own.on_train_batch_end(batch, {"loss": 1.0})
    assert own.best["batch"] == own.count == 3
    assert len(own.best["norms"]) == 2
    assert callback.best == {"loss": np.inf, "batch": 0}
    assert (callback.count, callback.losses, callback.begin) == (0, [], 0.0)
