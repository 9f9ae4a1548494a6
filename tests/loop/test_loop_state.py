"""Stopping, saving and going on."""

import os
import signal
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_perf.loop import Checkpoints, MovingStatistics, StopOnSignal, seed_states, split_seeds
from keras_perf.loop.distribution import Distribution


def alone():
    return Distribution(tf.distribute.get_strategy())


def made(units=4, optimizer=keras.optimizers.Adam):
    """A model and its optimizer, both built."""
    layers = [keras.Input((3,)), keras.layers.Dense(units), keras.layers.Dropout(0.5)]
    model = keras.Sequential([*layers, keras.layers.BatchNormalization()])
    optimizer = optimizer()
    optimizer.build(model.trainable_variables)
    return model, optimizer


def checkpoints(directory, *model_and_optimizer, **arguments):
    return Checkpoints(str(directory), alone(), *(model_and_optimizer or made()), **arguments)


def test_sigterm_is_noted_and_the_handler_before_comes_back():
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append("before"))
    try:
        with StopOnSignal() as stop:
            assert not stop.asked
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.asked
        assert not heard
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == ["before"]
        with pytest.raises(ValueError, match="theirs"), StopOnSignal():
            raise ValueError("theirs")
        os.kill(os.getpid(), signal.SIGTERM)
        assert heard == ["before", "before"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_newest_checkpoints_are_kept(tmp_path):
    saved = checkpoints(tmp_path, keep=2)
    for step in (10, 20, 30):
        saved.step.assign(step)
        saved.save()
    assert {path.stem for path in tmp_path.glob("*.index")} == {"ckpt-20", "ckpt-30"}


def test_without_a_checkpoint_it_begins_at_step_0(tmp_path, capsys):
    assert checkpoints(tmp_path / "none").restore() == 0
    assert not capsys.readouterr().out


def test_all_that_changes_in_training_comes_back(tmp_path, capsys):
    model, optimizer = made()
    saved = checkpoints(tmp_path, model, optimizer)
    model(np.ones((2, 3)), training=True)
    optimizer.apply([tf.ones(v.shape) for v in model.trainable_variables])
    saved.step.assign(7)
    saved.save()
    other, its_optimizer = made()
    assert checkpoints(tmp_path, other, its_optimizer).restore() == 7
    pairs = [*zip(other.variables, model.variables, strict=True)]
    pairs += zip(its_optimizer.variables, optimizer.variables, strict=True)
    for mine, theirs in pairs:
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    assert f"Goes on after step 7, from {tmp_path}/ckpt-7." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("saved", "found"),
    [
        ({}, {"units": 5}),
        ({}, {"optimizer": keras.optimizers.SGD}),
        ({"optimizer": keras.optimizers.SGD}, {}),
    ],
)
def test_a_checkpoint_of_another_model_or_optimizer_is_refused_in_one_line(saved, found, tmp_path):
    checkpoints(tmp_path, *made(**saved)).save()
    with pytest.raises(ValueError, match=r"must go on with the same (model|optimizer), ") as caught:
        checkpoints(tmp_path, *made(**found)).restore()
    assert "\n" not in str(caught.value)
    assert "Change it back, or give another directory." in str(caught.value)


def test_an_optimizer_with_as_many_variables_is_another_one(tmp_path):
    checkpoints(tmp_path, *made(optimizer=keras.optimizers.Adam)).save()
    with pytest.raises(ValueError, match=r'same optimizer, got \["Adamax", \d+\], and \["Adam"'):
        checkpoints(tmp_path, *made(optimizer=keras.optimizers.Adamax)).restore()


def test_what_must_stay_the_same_is_named_where_it_has_changed(tmp_path):
    checkpoints(tmp_path, same={"batch_size": 32}).save()
    assert checkpoints(tmp_path, same={"batch_size": 32}).restore() == 0
    with pytest.raises(ValueError, match="the same batch_size, got 64, and 32 in"):
        checkpoints(tmp_path, same={"batch_size": 64}).restore()


def test_a_checkpoint_that_cannot_be_read_says_how_to_go_on(tmp_path):
    saved = checkpoints(tmp_path)
    saved.save()
    [data] = tmp_path.glob("*.data-*")
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"can be read, got .*Remove it to go on from the one"):
        checkpoints(tmp_path).restore()


def test_a_checkpoint_that_was_removed_is_no_longer_the_newest(tmp_path):
    saved = checkpoints(tmp_path)
    for step in (200, 400):
        saved.step.assign(step)
        saved.save()
    for path in tmp_path.glob("ckpt-400.*"):
        path.unlink()
    assert checkpoints(tmp_path).restore() == 200
    (tmp_path / "checkpoint").unlink()
    assert checkpoints(tmp_path).restore() == 0


def test_the_first_replica_keeps_its_random_numbers():
    model, _ = made()
    [state] = seed_states(model)
    before = state.numpy().tolist()
    split_seeds(model, alone())
    assert state.numpy().tolist() == before


def test_moving_statistics_take_as_many_collectives_as_the_page_says(monkeypatch):
    collectives = []

    def sums(tensors):
        collectives.append(len(tensors))
        return tensors

    monkeypatch.setattr("keras_perf.loop.state.sum_over_replicas", sums)
    two = type("Two", (Distribution,), {"replicas": 2})(tf.distribute.get_strategy())
    MovingStatistics(made()[0], two).average()
    assert len(collectives) == 2
    page = (Path(__file__).parents[2] / "docs" / "custom_loop.md").read_text("utf-8")
    assert "averaged in two collectives" in page
