"""Values asked of others, each of which may fail alone."""

from __future__ import annotations

import warnings

import pytest

from keras_perf.observers.asking import answers, unwarned


def fails():
    raise ValueError("no\n such  thing")


def test_a_question_that_fails_costs_its_own_answer_and_is_named():
    not_known: dict[str, str] = {}
    assert answers({"a": lambda: 1, "b": fails, "c": lambda: 3}, not_known) == {"a": 1, "c": 3}
    assert not_known == {"b": "ValueError: no such thing"}


def test_what_is_answered_later_is_known():
    not_known = {"a": "ValueError"}
    assert answers({"a": lambda: 1}, not_known) == {"a": 1}
    assert not_known == {}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_answer(error):
    def interrupted():
        raise error

    with pytest.raises(error):
        answers({"a": interrupted}, {})


def test_where_warnings_are_errors_it_is_asked_again_without():
    asked = []

    def warns(value):
        asked.append(value)
        warnings.warn("deprecated", DeprecationWarning, stacklevel=2)
        return value

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        assert unwarned(warns, 3) == 3
        assert warnings.filters == before
    assert asked == [3, 3]


def test_where_warnings_are_none_they_are_seen_as_ever():
    with pytest.warns(UserWarning, match="look"):
        unwarned(lambda: warnings.warn("look", UserWarning, stacklevel=2))
