"""A callback that trains a model with a `fit` of its own, inside a `fit` that is observed."""

from __future__ import annotations

import keras
import pytest
from programs import dataset, model

import keras_perf as kp

STEPS, EPOCHS, INNER_STEPS = 60, 2, 20


class TrainsAnother(keras.callbacks.Callback):
    """Calls `train` in one of its hooks, in each epoch."""

    def __init__(self, hook, train):
        super().__init__()
        self.hook, self.train = hook, train

    def on_epoch_begin(self, epoch, logs=None):
        if self.hook == "on_epoch_begin" and epoch:
            self.train()

    def on_epoch_end(self, epoch, logs=None):
        if self.hook == "on_epoch_end":
            self.train()

    def on_train_batch_end(self, batch, logs=None):
        if self.hook == "on_train_batch_end" and batch == STEPS // 2:
            self.train()


HOOKS = ("on_epoch_begin", "on_epoch_end", "on_train_batch_end")
HOOKS_AND_SAME_MODEL = [
    *((hook, True) for hook in HOOKS),
    *(pytest.param(hook, False, marks=pytest.mark.long) for hook in HOOKS[:-1]),
    (HOOKS[-1], False),
]


def observed(log_dir):
    return kp.perf_callbacks(log_dir, profiler=False, gpu=False)


def train_inside(outer_model, outer, hook, inner_model, inner):
    def train():
        inner_model.fit(dataset(INNER_STEPS), verbose=0, shuffle=False, callbacks=inner)

    outer_model.fit(
        dataset(STEPS),
        epochs=EPOCHS,
        verbose=0,
        shuffle=False,
        callbacks=[*outer, TrainsAnother(hook, train)],
    )


def steps_observed(log_dir):
    context = kp.diagnose(log_dir).summary.facts.to_json()
    return context["last_step"] - context["first_step"]


def lines(caplog):
    return [r.message for r in caplog.records if "a fit began inside another" in r.message]


@pytest.mark.parametrize(("hook", "same_model"), HOOKS_AND_SAME_MODEL)
def test_a_fit_inside_without_our_callbacks_ends_nothing(hook, same_model, tmp_path, caplog):
    outer = model()
    train_inside(outer, observed(tmp_path), hook, outer if same_model else model(), [])
    assert steps_observed(tmp_path) == STEPS * EPOCHS
    assert not lines(caplog)


@pytest.mark.parametrize(("hook", "same_model"), HOOKS_AND_SAME_MODEL)
def test_the_same_callbacks_go_on_observing_the_outer_fit_and_say_so_once(
    hook, same_model, tmp_path, caplog
):
    outer, callbacks = model(), observed(tmp_path)
    train_inside(outer, callbacks, hook, outer if same_model else model(), callbacks)
    assert steps_observed(tmp_path) == STEPS * EPOCHS
    assert len(lines(caplog)) == 1
    assert all(callback.observation is None for callback in callbacks)


@pytest.mark.parametrize("hook", HOOKS)
def test_callbacks_of_its_own_on_the_same_model_leave_the_outer_fit_observed(
    hook, tmp_path, caplog
):
    both, inner = model(), observed(tmp_path / "inner")
    train_inside(both, observed(tmp_path / "outer"), hook, both, inner)
    assert steps_observed(tmp_path / "outer") == STEPS * EPOCHS
    assert len(lines(caplog)) == 1
    [recommender] = [c for c in inner if isinstance(c, kp.StepsPerExecutionRecommender)]
    assert "inside another one" in recommender.recommendation.reason


@pytest.mark.parametrize("hook", HOOKS)
def test_callbacks_of_its_own_on_another_model_observe_it_too(hook, tmp_path, caplog):
    train_inside(model(), observed(tmp_path / "outer"), hook, model(), observed(tmp_path / "inner"))
    assert steps_observed(tmp_path / "outer") == STEPS * EPOCHS
    assert steps_observed(tmp_path / "inner") == INNER_STEPS
    assert not lines(caplog)


def test_the_outer_fit_can_be_observed_again_with_the_same_callbacks(tmp_path, caplog):
    both, callbacks = model(), observed(tmp_path)
    for times in (1, 2):
        train_inside(both, callbacks, "on_epoch_end", both, callbacks)
        assert steps_observed(tmp_path) == STEPS * EPOCHS
        assert len(lines(caplog)) == times


def test_a_fit_that_raised_is_over_for_the_next_one(tmp_path, caplog):
    class Fails(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise RuntimeError("as it happens")

    trained, callbacks = model(), observed(tmp_path)
    with pytest.raises(RuntimeError, match="as it happens"):
        trained.fit(dataset(STEPS), verbose=0, shuffle=False, callbacks=[*callbacks, Fails()])
    trained.fit(dataset(STEPS), verbose=0, shuffle=False, callbacks=callbacks)
    assert steps_observed(tmp_path) == STEPS
    assert not lines(caplog)
