"""Two ways of doing the same, measured in turn by a scripted clock."""

from itertools import chain, cycle, repeat

import pytest

from keras_perf.trials.measuring.in_turn import LARGE, PATIENCE, Pair, in_turn


def measured(before, after, **arguments):
    """The pair, and how many slices of each it took; a slice takes half a second."""
    taken = []

    def before_ms():
        taken.append(next(before))
        return taken[-1]

    def now():
        return 0.5 * len(taken)

    pair = in_turn(before_ms, lambda: next(after), seconds=5.0, clock=now, **arguments)
    return pair, len(taken)


def test_what_is_clear_takes_the_time_given():
    pair, slices = measured(cycle([10.0]), cycle([5.0]))
    assert (pair.gain, pair.low, pair.high) == (2.0, 2.0, 2.0)
    assert not pair.unclear
    assert slices == 10


def test_much_that_may_be_noise_is_measured_for_longer():
    after = chain([5.0, 60.0, 5.0] * 3, repeat(5.0))
    pair, slices = measured(repeat(10.0), after)
    assert 10 < slices < 10 * PATIENCE
    assert pair.gain == 2.0
    assert not pair.unclear


def test_noise_without_end_has_an_end():
    after = chain([5.0, 60.0, 5.0] * 3, cycle([5.0, 60.0, 60.0, 5.0]))
    pair, slices = measured(repeat(10.0), after)
    assert slices == 10 * PATIENCE
    assert pair.unclear


def test_little_that_may_be_noise_is_no_reason_to_go_on():
    _, slices = measured(cycle([10.0, 11.0, 9.0]), cycle([10.0, 9.0, 11.0]))
    assert slices == 10


def test_what_is_hopeless_ends_early():
    pair, slices = measured(cycle([5.0]), cycle([10.0]), hopeless=0.97)
    assert slices == 3
    assert pair.gain == 0.5


@pytest.mark.parametrize(
    ("gain", "low", "unclear"),
    [(LARGE, 0.9, True), (3.0, 1.0, True), (3.0, 1.01, False), (1.1, 0.9, False)],
)
def test_a_large_gain_whose_interval_holds_none_is_unclear(gain, low, unclear):
    assert Pair(1.0, 1.0, gain, low, 5.0).unclear is unclear
