"""Calls of `evaluate` and `predict` outside of any `fit`, on a Keras that stands in for it."""

from __future__ import annotations

import errno
import gc
import os
import sys
import threading
import weakref
from types import ModuleType, SimpleNamespace

import pytest

from keras_perf.running.calls import MANY_MODELS
from keras_perf.running.observed import Observed
from keras_perf.running.options import Options


class CallbackList(list):
    """As much of Keras's as matters here."""


class Ours:
    """Stands in for the callback that watches."""

    model = None
    finished = 0

    def set_model(self, model):
        self.model = model

    def finish_calls(self):
        self.finished += 1


def keras_like(backend):
    class Trainer:
        def fit(self, x=None, callbacks=None):
            """Trains, and validates in between; its input predicts in a thread of its own."""
            backbone = keras.Model()
            thread = threading.Thread(target=backbone.predict, args=(x,))
            thread.start()
            thread.join()
            self.evaluate(x)
            return self.seen or backbone.seen

        def evaluate(self, x=None, batch_size=None, callbacks=None, **hidden):
            """Evaluates."""
            self.seen = [*callbacks.values()] if isinstance(callbacks, dict) else callbacks
            for each in self.seen or ():
                if isinstance(each, Ours):
                    each.set_model(self)
            return x(self) if callable(x) else x

        def predict(self, x, callbacks=None):
            """Predicts."""
            return Trainer.evaluate(self, x, callbacks=callbacks)

    keras = ModuleType("keras")
    keras.Model = type("Model", (Trainer,), {})
    keras.callbacks = SimpleNamespace(CallbackList=CallbackList)
    keras.tree = SimpleNamespace(flatten=lambda given: given if type(given) is list else [given])
    keras.config = SimpleNamespace(backend=lambda: backend)
    return keras


def observing(folder, backend="tensorflow"):
    said, made, keras = [], [], keras_like(backend)
    observed = Observed(Options(str(folder / "logs")), said.append)

    def callback(log_dir):
        made.append(os.path.basename(log_dir))
        return Ours()

    observed.calls._callback, observed.fits._callbacks = callback, lambda log_dir: []
    observed.install(keras)
    return SimpleNamespace(
        observed=observed, keras=keras, said=said, made=made, folder=folder / "logs"
    )


@pytest.fixture
def watched(tmp_path):
    return observing(tmp_path)


def test_all_calls_of_a_model_are_one_run_and_another_model_s_another(watched):
    (watched.folder / "calls_4").mkdir(parents=True)
    one, other = watched.keras.Model(), watched.keras.Model()
    assert [one.predict("x") for _ in range(1000)] == ["x"] * 1000
    assert one.evaluate("y", 8, use_hidden=True) == "y"
    assert [type(each) for each in one.seen] == [Ours]
    other.predict("x")
    assert watched.made == ["calls_5", "calls_6"]
    assert list(map(os.path.basename, watched.observed.calls.log_dirs)) == watched.made
    assert watched.said == []


def test_what_a_fit_calls_is_told_with_it_whether_that_is_observed_or_not(watched, monkeypatch):
    model = watched.keras.Model()
    assert model.fit("data") is None
    monkeypatch.setattr(watched.observed.fits, "_is_to_run_as_it_is", lambda given: True)
    assert model.fit("data") is None
    assert watched.made == []
    model.evaluate("data")
    assert watched.made == ["calls_1"]


@pytest.mark.parametrize("given", [None, [], (), ["theirs"], ("theirs",), "theirs"])
def test_the_programs_callbacks_come_first(watched, given):
    model = watched.keras.Model()
    model.predict("x", given)
    *theirs, ours = model.seen
    assert theirs == (["theirs"] if given else [])
    assert isinstance(ours, Ours)


def test_what_a_call_raises_comes_through_and_nothing_is_left(watched):
    def raises(_):
        raise KeyboardInterrupt

    model = watched.keras.Model()
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            model.predict(raises)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        model.predict()
    assert watched.made == ["calls_1"]
    assert not watched.folder.exists()


def test_a_call_inside_a_call_or_beside_it_runs_as_it_is(watched):
    model = watched.keras.Model()
    inner = []

    def both(_):
        model.predict("x")
        inner.append(model.seen)
        thread = threading.Thread(target=model.evaluate, args=("x",))
        thread.start()
        thread.join()
        inner.append(model.seen)

    model.evaluate(both)
    assert inner == [None, None]
    assert watched.said == [
        "an evaluate or predict is not observed: the model is evaluating or predicting already."
    ]
    assert sum(watched.observed.calls.not_observed.values()) == 2


def test_a_program_with_callbacks_of_ours_is_left_alone(watched, monkeypatch):
    name = "keras_perf.callbacks.observing_callback"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(ObservingCallback=Ours))
    watched.keras.Model().predict("x", [Ours()])
    assert (watched.made, watched.said) == ([], [])


def test_calls_of_very_many_models_are_watched_of_the_first(watched):
    models = [watched.keras.Model() for _ in range(MANY_MODELS + 3)]
    for model in models:
        model.predict("x")
    models[0].predict("x")
    assert len(watched.made) == MANY_MODELS
    assert watched.observed.calls.not_observed == {f"those of {MANY_MODELS} models are": 3}
    assert len(watched.said) == 1


def test_a_model_that_called_is_not_kept(watched):
    model = watched.keras.Model()
    model.predict("x")
    model.seen = None
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_our_own_failure_leaves_the_call_as_it_is_and_nothing_more_is_tried(watched, monkeypatch):
    tried = []

    def fails(log_dir):
        tried.append(log_dir)
        raise OSError(errno.ENOSPC, "no space", log_dir)

    known, model = watched.keras.Model(), watched.keras.Model()
    known.predict("x")
    monkeypatch.setattr(watched.observed.calls, "_callback", fails)
    assert [model.predict("x"), model.predict("x")] == ["x", "x"]
    assert model.seen is None
    watched.keras.Model().evaluate("x")
    assert len(tried) == 1
    assert watched.observed.calls.not_observed == {"OSError: no space": 3}
    assert watched.said == ["an evaluate or predict is not observed: OSError: no space."]
    assert os.listdir(watched.folder) == ["calls_1"]
    known.predict("x")
    assert known.seen is not None


@pytest.mark.parametrize(
    ("backend", "given", "why"),
    [
        ("torch", None, "Keras runs on torch"),
        ("jax", None, "on JAX nothing tells"),
        ("tensorflow", CallbackList(), "it was given a CallbackList"),
    ],
)
def test_what_cannot_be_watched_is_told_once_and_runs_as_it_is(tmp_path, backend, given, why):
    watched = observing(tmp_path, backend)
    model = watched.keras.Model()
    for _ in range(2):
        assert model.predict("x", given) == "x"
    assert model.seen is given
    [line] = watched.said
    assert why in line


def test_on_jax_an_evaluate_is_watched(tmp_path):
    watched = observing(tmp_path, "jax")
    watched.keras.Model().evaluate("x")
    assert watched.made == ["calls_1"]


def test_at_the_end_all_is_written_also_of_models_that_are_gone(watched):
    finished = [watched.keras.Model() for _ in range(2)]
    for model in finished:
        model.predict("x")
    ours = [model.seen[-1] for model in finished]
    finished.clear()
    del model
    gc.collect()
    watched.observed.remove()
    assert [each.finished for each in ours] == [1, 1]


def test_nothing_stays_when_it_is_removed(watched):
    assert watched.keras.Model.predict.__doc__ == "Predicts."
    ours, theirs = watched.keras.Model.predict, lambda self, x: ours(self, x)
    watched.keras.Model.predict = theirs
    watched.observed.remove()
    assert set(vars(watched.keras.Model)) & {"fit", "evaluate", "predict"} == {"predict"}
    assert watched.keras.Model().predict("x") == "x"
    assert watched.made == []
