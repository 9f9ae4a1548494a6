from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.steps_trial.steps_to_try import CONFIRMATIONS, TRIALS, Room, in_turn

ROOM = Room(
    present=1,
    step_ms=1.0,
    first_s=0.5,
    epoch_steps=1000,
    steps_left=10_000,
    limit=256,
    max_execution_s=1.0,
)


@pytest.mark.parametrize(
    ("changed", "lengths"),
    [
        ({}, [8, 32]),
        ({"present": 2}, [16, 64]),
        ({"epoch_steps": 60}, [4, 16]),
        ({"steps_left": 100}, [4]),
        ({"first_s": 3.0}, [8, 32]),
        ({"step_ms": 15.0}, [8, 32]),
        ({"limit": 10}, [2, 8]),
        ({"max_execution_s": 0.01}, [2, 8]),
    ],
)
def test_two_lengths_that_fit_are_tried_first(changed, lengths):
    assert replace(ROOM, **changed).first_lengths() == (lengths, None)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"step_ms": 40.0}, "too long"),
        ({"epoch_steps": 5}, "no room"),
        ({"steps_left": 40}, "no room"),
        ({"first_s": 60.0}, "would not pay"),
        ({"limit": 1}, "limit=1 allows no more than the present 1"),
    ],
)
def test_where_trials_cannot_pay_none_are_made(changed, why):
    lengths, refusal = replace(ROOM, **changed).first_lengths()
    assert lengths == []
    assert why in refusal


def test_a_length_beyond_the_chosen_one_is_tried_where_there_is_room():
    assert ROOM.length_beyond(64, (8, 32)) == 128
    assert ROOM.length_beyond(256, (8, 32)) == 256
    assert ROOM.length_beyond(8, (8, 32)) is None
    assert replace(ROOM, steps_left=600).length_beyond(64, (8, 32)) == 50
    assert replace(ROOM, present=8).length_beyond(100, (64,)) == 200


@given(
    st.integers(1, 8),
    st.integers(1, 5000),
    st.integers(0, 100_000),
    st.floats(0.05, 19),
    st.floats(0, 3),
)
def test_trials_never_take_more_than_half_of_what_is_left(present, epoch, left, step_ms, first_s):
    room = Room(present, step_ms, first_s, epoch, left, 256, 1.0)
    lengths, _ = room.first_lengths()
    assert sum(in_turn(lengths, TRIALS)) <= left / 2
    beyond = room.length_beyond(256, (1,))
    if beyond is not None:
        assert sum(in_turn([beyond], CONFIRMATIONS)) <= left / 2
        assert beyond % present == 0


@given(st.integers(1, 8), st.integers(1, 5000), st.integers(0, 100_000), st.integers(0, 10_000))
def test_repeated_trials_leave_half_of_the_training_alone(present, epoch, left, spent):
    room = Room(present, 1.0, 0.5, epoch, left, 256, 1.0)
    tried = (8 * present, 32 * present, 37 * present)
    again = room.length_again(tried, spent)
    if again is not None:
        assert again in tried[1:]
        assert spent + sum(in_turn([again], CONFIRMATIONS)) <= (left + spent) / 2
