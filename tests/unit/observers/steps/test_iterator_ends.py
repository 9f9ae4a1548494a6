"""Waits for the end of an iterator are told by the times at which tf.data tunes a pipeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.observers.steps.outside.iterator_ends import (
    FIRST_NS,
    LONGEST_NS,
    IteratorEnds,
    awaited_ns,
)
from keras_perf.records.epoch_gap import VALIDATION, EpochGap

MS, S = 10**6, 10**9


@pytest.mark.parametrize(
    ("lived_ms", "took_ms"),
    [
        (41, 29),
        (280, 22),
        (290, 21),
        (628, 654),
        (620, 650),
        (740, 525),
        (11_616, 8_856),
        (60_000, 21_910),
        (90_000, 51_910),
        (142_000, 59_910),
    ],
)
def test_an_end_at_the_next_time_of_tuning_was_waited_for(lived_ms, took_ms):
    assert awaited_ns(lived_ms * MS, took_ms * MS) == took_ms * MS


@pytest.mark.parametrize(
    ("lived_ms", "took_ms"),
    [(616, 2), (740, 400), (740, 700), (11_616, 3_000), (1_265, 5), (90_000, 50_000)],
)
def test_what_ends_at_another_time_or_at_once_was_not(lived_ms, took_ms):
    assert awaited_ns(lived_ms * MS, took_ms * MS) == 0


@given(st.integers(0, 3600 * S), st.integers(0, 120 * S))
def test_nobody_is_said_to_wait_longer_than_it_took_or_than_the_thread_sleeps(lived, took):
    found = awaited_ns(lived, took)
    assert found in (0, took)
    assert found <= min(lived + FIRST_NS, LONGEST_NS) + 200 * MS


def gap(begin_ms, validated_ms=0, rest_ms=0, iterator_ms=None, hooked_ms=0, unvalidated_ms=0):
    """A validation, Keras's own work with the making of an iterator in it, first hooks."""
    validation_ms = unvalidated_ms + validated_ms
    owners = ((VALIDATION, validation_ms * MS),) if validation_ms else ()
    return EpochGap(
        40,
        begin_ms * MS,
        (begin_ms + validation_ms + rest_ms) * MS,
        owners,
        iterator_ns=None if iterator_ms is None else iterator_ms * MS,
        validated_ns=validated_ms * MS,
        hooked_ns=hooked_ms * MS,
        unvalidated_ns=unvalidated_ms * MS,
    )


def ends_of(*gaps):
    ends = IteratorEnds()
    for each in gaps:
        ends.add(each)
    return [ns / MS for ns in ends.epochs_ns], [ns / MS for ns in ends.validations_ns]


def test_an_epoch_s_iterator_lives_from_its_first_batch_through_the_validation():
    # It gave its first batch at 2,000 ms, and 1,270 ms later its thread tunes again.
    first, second = gap(1000, 990, 10, 3), gap(2700, 300, 270, 268)
    assert ends_of(first, second) == ([0.0, 268.0], [0.0, 0.0])
    # The begin of the first epoch's own is not known.
    assert ends_of(second) == ([0.0], [0.0])


def test_a_validation_s_iterator_ends_after_it_and_not_while_the_next_one_is_made():
    assert ends_of(gap(1000, 330, 302, 2)) == ([0.0], [300.0])
    assert ends_of(gap(1000, 330, 302, None)) == ([], [302.0])
    assert ends_of(gap(1000, 330, 3, 2)) == ([0.0], [0.0])
    assert ends_of(gap(1000, 0, 302, 2)) == ([0.0], [])


def test_hooks_before_an_epoch_s_first_batch_are_no_part_of_a_wait():
    assert ends_of(gap(1000, 330, 342, 2, hooked_ms=40)) == ([0.0], [300.0])
    assert ends_of(gap(1000, 330, 302, 2, hooked_ms=300)) == ([0.0], [0.0])
    first, second = gap(1000, 990, 10, 3), gap(2700, 300, 310, 268, hooked_ms=40)
    assert ends_of(first, second) == ([0.0, 268.0], [0.0, 0.0])


def late_of(*gaps):
    ends = IteratorEnds()
    for each in gaps:
        ends.add(each)
    return ends.late


BEGAN = gap(1000, 300, 2, 1, unvalidated_ms=10)
WAITED = gap(3000, 300, 2, 1, unvalidated_ms=560)


def test_with_validation_steps_an_iterator_ends_as_the_next_validation_begins():
    # The first one's begins to give batches at 1,010 ms; 2,550 ms later its thread tunes again.
    first, second = (
        gap(1000, 300, 2, 1, unvalidated_ms=10),
        gap(3000, 300, 2, 1, unvalidated_ms=560),
    )
    assert ends_of(first, second) == ([0.0, 0.0], [0.0, 560.0])
    third = gap(3000, 300, 2, 1, unvalidated_ms=300)
    assert ends_of(BEGAN, third) == ([0.0, 0.0], [0.0, 0.0])
    # What observes training was at work in the gap, and the iterator did not live for longer.
    moved = {"begin_ns": second.begin_ns + 400 * MS, "end_ns": second.end_ns + 400 * MS}
    assert ends_of(first, second._replace(**moved, observed_ns=400 * MS))[1] == [0.0, 560.0]
    # An epoch between them has no validation.
    assert ends_of(BEGAN, gap(2000), WAITED)[1] == [0.0, 560.0]


def test_such_a_wait_is_the_rest_s_and_no_validation_s():
    ends = IteratorEnds()
    first, second = (
        gap(1000, 300, 2, 1, unvalidated_ms=10),
        gap(3000, 300, 2, 1, unvalidated_ms=560),
    )
    assert ends.add(first) == first
    found = ends.add(second)
    assert (found.validation_ns, found.rest_ns) == (300 * MS, 562 * MS)
    assert found.total_ns == WAITED.total_ns


def test_an_iterator_that_ended_with_its_validation_does_not_end_again():
    ended = gap(1000, 330, 302, 2, unvalidated_ms=10)
    assert ends_of(ended, gap(3000, 300, 2, 1, unvalidated_ms=560))[1] == [300.0, 0.0]


def test_of_a_validation_that_nobody_watched_the_begin_is_not_known():
    unseen = BEGAN._replace(validated_ns=0)
    assert ends_of(BEGAN, unseen, WAITED)[1] == [0.0, 0.0, 0.0]
