"""Advice that is tried on programs whose bottleneck is known, by the clock: nothing is scripted."""

import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from bottlenecks import batches, computed, mlp, slept

import keras_perf as kp

AT_ONCE = 8
PAYS = 1.05
"""Ratios of a change that makes no difference lie on either side of 1."""

CLEARLY = 1.2
"""Of ten turns such a ratio is not by chance."""

pytestmark = [pytest.mark.timing, pytest.mark.whole]


def healthy():
    """The model's own computation takes nearly all of a step: the scenario of that name."""
    data = batches(96, rows=256, features=512).cache().prefetch(2)
    return mlp(768, features=512, steps_per_execution=AT_ONCE), data


def kept_already():
    """The scenario `the_same_work_in_each_epoch` with what is advised of it: a cache."""
    data = batches(96, rows=256, features=512).map(slept(1.0)).cache().prefetch(2)
    return mlp(768, features=512, steps_per_execution=AT_ONCE), data


HEALTHY = {made.__name__: made for made in (healthy, kept_already)}


def state(model):
    return [keras.ops.convert_to_numpy(v) for v in (*model.variables, *model.optimizer.variables)]


def epoch_s(model, data):
    """By a clock of the test."""
    begin = time.perf_counter()
    model.fit(data, verbose=0, shuffle=False)
    return time.perf_counter() - begin


@pytest.mark.parametrize("name", HEALTHY)
def test_of_a_healthy_input_nothing_is_changed(name):
    model, data = HEALTHY[name]()
    tuned = kp.tune_input(data, model=model, budget_s=30.0)
    assert tuned.changes == ()
    assert tuned.dataset is data
    assert tuned.gain == 1.0


@pytest.mark.parametrize("name", ["healthy", pytest.param("kept_already", marks=pytest.mark.long)])
def test_of_a_healthy_program_nothing_is_advised_and_nothing_changed(name):
    model, data = HEALTHY[name]()
    model.fit(data, verbose=0, shuffle=False)
    before = state(model)
    tried = kp.try_advice(model, data, budget_s=60.0)
    # What XLA makes of such a model differs from machine to machine, and the clock says it.
    by_xla = {each.id for each in tried.changes} == {"enable-xla"}
    assert tried.changes == () or (by_xla and xla_pays(data))
    assert tried.dataset is data
    after = state(model)
    assert len(after) == len(before)
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def xla_pays(data):
    """One training beside the other, in short turns: others may take the machine meanwhile."""
    few = data.take(3 * AT_ONCE)
    models = [
        mlp(768, features=512, steps_per_execution=AT_ONCE, jit_compile=compiled)
        for compiled in (False, True)
    ]
    for model in models:
        epoch_s(model, few)  # compiles
    # Beside others an epoch takes once or twice as long by turns, of one kind more often.
    took_s = []
    for turn in range(1, 41):
        took_s.append([epoch_s(model, few) for model in models])
        without, with_it = map(sum, zip(*took_s, strict=True))
        if turn == 10 and without > CLEARLY * with_it:
            break
    return without > PAYS * with_it


def work_that_shares_the_cores():
    """A map that keeps all cores busy: what waits, and what only shares them, no split can tell."""
    data = batches(60).map(computed(600), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
    return mlp(), data


def test_the_classic_pair_is_measured_shown_and_settles_the_verdict(tmp_path):
    model, data = work_that_shares_the_cores()
    ours = kp.perf_callbacks(tmp_path, profiler=False, gpu=False, try_advice={"budget_s": 10.0})
    model.fit(data, epochs=3, verbose=0, shuffle=False, callbacks=ours)
    found = kp.diagnose(tmp_path)
    trials = found.summary.facts.advice_trials
    assert trials.ready_ms < trials.step_ms / 2
    assert trials.batch_ms > trials.ready_ms
    assert found.verdict == "input-bound"
    assert "tried on this training: a step takes" in found.explanation
    assert "where its batch is ready" in found.explanation
    [pair] = (note for note in found.notes if note.startswith("Measured after training"))
    assert "on a ready batch, a batch of the input alone" in pair
    shown = str(kp.try_advice(model, data, budget_s=3.0)).splitlines()[0]
    assert shown.startswith("As it is: a step ")
    assert "on a ready batch" in shown
    assert "a batch of the input alone" in shown
