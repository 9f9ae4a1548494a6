"""Spans of time, cut into what training did in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.sensors.phases import Phases
from keras_perf.records.phase import Phase

T, V, B = Phase.TRAINING, Phase.VALIDATION, Phase.BETWEEN


@pytest.fixture
def phases() -> Phases:
    """Between from 0, training from 10, validation from 20, between from 25."""
    found = Phases(0.0)
    for now, phase in ((10.0, T), (20.0, V), (25.0, B)):
        found.begin(now, phase)
    return found


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (12.0, 13.0, {T: 1.0}),
        (10.0, 20.0, {T: 10.0}),
        (19.0, 21.0, {T: 1.0, V: 1.0}),
        (9.0, 26.0, {B: 2.0, T: 10.0, V: 5.0}),
        (30.0, 31.0, {B: 1.0}),
        (12.0, 12.0, {}),
    ],
)
def test_a_span_is_shared_out_by_time(phases, begin, end, expected):
    assert phases.seconds(begin, end) == expected


def test_what_is_not_asked_for_again_is_forgotten(phases):
    phases.forget(12.0)
    assert phases.seconds(12.0, 26.0) == {T: 8.0, V: 5.0, B: 1.0}
    phases.forget(99.0)
    assert phases.seconds(99.0, 100.0) == {B: 1.0}
    assert len(phases._marks) == 1


def test_training_again_counts_as_training(phases):
    phases.begin(30.0, T)
    assert phases.seconds(15.0, 35.0) == {T: 10.0, V: 5.0, B: 5.0}


@given(
    st.lists(st.tuples(st.integers(1, 9), st.sampled_from(Phase)), max_size=8),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_the_shares_add_up_to_the_span(steps, begin, length):
    phases, now = Phases(0.0), 0.0
    for wait, phase in steps:
        now += wait
        phases.begin(now, phase)
    assert sum(phases.seconds(begin, begin + length).values()) == pytest.approx(length)
