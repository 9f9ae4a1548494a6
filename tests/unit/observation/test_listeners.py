"""Who directs an execution is told first of those that are complete."""

from __future__ import annotations

import pytest

from keras_perf.observation.listener import Director
from keras_perf.observation.listeners import Audience


class Directs(Director):
    """Notes what it is asked, and answers as it was made to."""

    def __init__(self, name, asked, *, wants, last=False, fails=False):
        self.name, self.asked, self.answer, self.does_fail = name, asked, wants, fails
        self.asked_last = last

    def wants(self, plan):
        self.asked.append(f"{self.name} wants?")
        return self.answer

    def direct(self, plan):
        self.asked.append(f"{self.name} directs")
        if self.does_fail:
            raise ZeroDivisionError
        return f"{plan}, {self.name}'s"


@pytest.fixture
def asked():
    return []


def directed(asked, *directors):
    audience = Audience()
    for each in directors:
        audience.add(each)
    return audience, audience.direct("a plan", lambda: asked.append("told"))


def test_what_is_complete_is_told_between_the_question_and_the_decision(asked):
    _, plan = directed(asked, Directs("one", asked, wants=True))
    assert asked == ["one wants?", "told", "one directs"]
    assert plan == "a plan, one's"


def test_where_nobody_wants_to_direct_nothing_is_told(asked):
    _, plan = directed(asked, Directs("one", asked, wants=False))
    assert asked == ["one wants?"]
    assert plan == "a plan"


def test_who_is_asked_last_sees_the_plan_of_the_others(asked):
    late, early = Directs("late", asked, wants=True, last=True), Directs("early", asked, wants=True)
    _, plan = directed(asked, late, early)
    assert asked == ["early wants?", "told", "early directs", "late wants?", "told", "late directs"]
    assert plan == "a plan, early's, late's"


def test_one_that_fails_is_asked_no_more_and_the_plan_stays(asked, caplog):
    audience, plan = directed(asked, Directs("one", asked, wants=True, fails=True))
    assert plan == "a plan"
    assert audience.direct("another", lambda: asked.append("told")) == "another"
    assert asked == ["one wants?", "told", "one directs"]
    assert "ZeroDivisionError" in caplog.text
