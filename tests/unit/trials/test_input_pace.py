"""How long a step on a ready batch is said to take."""

from __future__ import annotations

import pytest

from keras_perf.records.run.tried.advice_trials import TriedChange
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.training.input_pace import InputPace
from keras_perf.trials.training.training_change import TrainingChange

PACE = InputPace(Pair(9.0, 7.0, 9 / 7, 1.2, 1.4), outside_ms=1.0, one_shape=True)
"""Of steps of 10 ms two are the input's."""


def tried(low: float) -> TriedChange:
    return TriedChange(id="cache", gain=low, low=low, high=low, before_ms=10.0, after_ms=10 / low)


def change(id: str, *, of_input: bool, alters: str = "") -> TrainingChange:
    rewriting = Change(id, "", "", lambda data: data) if of_input else None
    return TrainingChange(id, "", "", lambda setup: setup, alters=alters, rewriting=rewriting)


@pytest.mark.parametrize(
    ("alone", "again", "ready_ms"),
    [
        ({}, [], 8.0),
        ({change("cache", of_input=True): tried(1.1)}, [], 8.0),
        ({change("cache", of_input=True): tried(2.0)}, [], 5.0),
        # Measured again, as what is put together is, it gained more.
        ({change("cache", of_input=True): tried(1.1)}, [tried(2.0)], 5.0),
        ({change("xla", of_input=False): tried(2.0)}, [], 8.0),
        ({change("cache", of_input=True, alters="order"): tried(2.0)}, [], 8.0),
    ],
    ids=["nothing", "less", "more", "more again", "of the step", "alters training"],
)
def test_a_ready_batch_is_no_slower_than_what_a_change_of_the_input_surely_made(
    alone, again, ready_ms
):
    assert PACE.ready_ms(alone, again) == pytest.approx(ready_ms)
