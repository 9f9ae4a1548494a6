"""Batch hooks for which training on JAX waits, and may not have to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_built import diagnosed, situation, summary

from keras_perf.advise.notes.hooks_on_jax import hook_notes
from keras_perf.advise.rules.all_rules import known_of
from keras_perf.advise.rules.async_callback import async_callback
from keras_perf.advise.situation import situation_of

LOOKS = "Looks.on_train_batch_end"
SAVES = "ModelCheckpoint.on_train_batch_end"
WAITS = {"waiting_hooks": [LOOKS], "late_hooks": [LOOKS]}
GPU = {"training_gpus": [{"compute_capability": [9, 0], "name": "a GPU"}]}


def found(*hooks, **context):
    """Of steps of 10 ms; all of these hooks may be late, unless the context names others."""
    waiting = {"waiting_hooks": list(hooks), "late_hooks": list(hooks), **context}
    return async_callback(situation(context=waiting, compute=6.0, other_host=4.0))


def test_a_step_takes_the_longer_of_device_and_host():
    advice = found(LOOKS)
    # Of 10 ms the 4 of the host go beside the device's 6; at best half of the step does.
    assert advice.predicted_speedup == pytest.approx(10 / (10 - 0.85 * 4))
    assert (advice.low, advice.high) == (1.0, pytest.approx(2.0))
    assert f"For {LOOKS}, training waits" in advice.reason
    assert "may compute for 6 ms of a step of 10 ms" in advice.reason


def test_sensors_of_a_gpu_tell_what_is_the_devices():
    sensors = {"gpu/0/graphics_active_pct": 30.0}
    run = summary(sensors=sensors, context={**WAITS, **GPU}, compute=9.0, other_host=1.0)
    advice = async_callback(situation_of(run))
    assert advice.predicted_speedup == pytest.approx(10 / (10 - 0.85 * 3))
    assert advice.high == pytest.approx(10 / 7)
    assert "runs kernels for 3 ms of a step of 10 ms" in advice.reason


def test_beside_input_that_takes_longer_than_all_else_nothing_is_gained():
    behind = situation(context=WAITS, compute=1.0, input_wait=9.0, other_host=0.0)
    model = replace(behind.model, stages={"input": 10.0}, prefetched=True)
    assert async_callback(replace(behind, model=model)).predicted_speedup == 1.0


@pytest.mark.parametrize(
    ("hooks", "context"),
    [
        ((), {}),
        ((LOOKS,), {"state_reads": {"Looks.on_train_batch_begin": 1}}),
        ((LOOKS,), {"late_hooks": []}),
        ((LOOKS, SAVES), {"late_hooks": [LOOKS]}),
    ],
)
def test_nothing_is_advised_where_one_of_them_may_not_be_late(hooks, context):
    assert found(*hooks, **context) is None


def test_of_a_class_of_keras_s_the_callback_is_told():
    advice = found(LOOKS, SAVES)
    looks, saves = advice.action.split("\ncalled_late", 1)
    assert looks.startswith("class Looks(keras.callbacks.Callback):\n    async_safe = True")
    assert saves == " = keras.callbacks.ModelCheckpoint(...)\ncalled_late.async_safe = True"


def test_it_was_followed_where_no_hook_is_waited_for():
    followed = known_of("async-callback").followed
    for hooks, is_so in (((), True), ((LOOKS,), False)):
        facts = summary(context={"waiting_hooks": list(hooks)}, compute=1.0).facts
        assert followed(facts, found(LOOKS)) is is_so


def test_with_the_advice_the_note_has_nothing_to_add():
    run = diagnosed(summary(context=WAITS, compute=10.0))
    [note] = hook_notes(run)
    assert "As far as their code shows they may be called later" in note
    assert not list(hook_notes(replace(run, advised={"async-callback"})))
