"""A verdict's figure beside that of its best advice."""

from __future__ import annotations

from typing import Any

import pytest
from contradictions import contradictions
from hand_built import situation, stage, summary

from keras_perf.advise.rules.all_rules import RULES
from keras_perf.advise.rules.best_first import recommendations
from keras_perf.advise.verdict.verdict import verdict_of
from keras_perf.advise.what_is_left import ON, what_is_left
from keras_perf.report.diagnosis import diagnosis_of

SEQUENTIAL = [stage("TensorSlice", 1.0), stage("Map", 6.0), stage("Batch", 1.0)]
SLOW_INPUT = {"input_wait": 8.0, "compute": 2.0, "stages": SEQUENTIAL}
SLOW_CALLBACK = {"compute": 6.0, "callbacks": 4.0, "owners": {"Mine.on_train_batch_end": 4.0}}


def told(**arguments: Any) -> str:
    found = situation(**arguments)
    return what_is_left(found, verdict_of(found)[0], recommendations(found))


def test_advice_that_gains_much_less_than_the_verdict_s_figure_says_what_it_leaves():
    # Of 10 ms the map over eight cores leaves 4.75; without the input there would be 2.
    assert told(**SLOW_INPUT) == (
        "With parallel-map 2.75 ms of that remain, hence its 2.11×: the map's work stays, shared "
        "by threads."
    )


def test_advice_that_gains_nearly_all_of_it_needs_no_words():
    assert told(**SLOW_CALLBACK) == ""
    assert told(compute=10.0) == ""


def test_all_advice_on_a_part_has_its_words():
    on_a_part = {rule.id for rule in RULES if rule.known.on in ON.values()}
    assert on_a_part == {rule.id for rule in RULES if rule.known.leaves}


def test_a_report_that_promises_more_than_its_verdict_contradicts_itself():
    found = diagnosis_of(summary(**SLOW_CALLBACK))
    assert not list(contradictions(found))
    too_much = [
        each.__class__(**{**vars(each), "predicted_speedup": 2.7, "high": 3.0})
        for each in found.recommendations
    ]
    said = list(contradictions(found.__class__(**{**vars(found), "recommendations": too_much})))
    assert any("at most 1.91×, yet amortize-callback alone buys 2.70×" in each for each in said)
    assert any("explains" in each for each in said)


@pytest.mark.parametrize(("text", "is_one"), [("43 % of it", False), ("43% of it", True)])
def test_shares_have_one_form(text, is_one):
    found = diagnosis_of(summary(compute=10.0))
    said = list(contradictions(found.__class__(**{**vars(found), "notes": (text,)})))
    assert (said == []) is is_one
