"""Sentences are stored as a word and what stands in them."""

from __future__ import annotations

import ast
import json
import pickle
from pathlib import Path

import pytest

import keras_perf
from keras_perf.records.reasons.price import Alters, Costs
from keras_perf.records.reasons.reason import Reason, Words, worded
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.records.reasons.why_not_trained import WhyNotTrained
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.json_form import plain, stored
from keras_perf.records.run.run_facts import RunFacts, from_json
from keras_perf.records.run.tried.advice_trials import AdviceTrials, NotTried, TriedChange
from keras_perf.records.run.tried.batch_sizes import BatchSize
from keras_perf.records.run.tried.steps_trial import StepsTrial
from keras_perf.records.shapes import WrongShapeError, record

PACKAGE = Path(keras_perf.__file__).parent


class Sample(Words):
    TOO_LONG = "it takes {needed_s:.0f} s and {step_ms}, of {size_mib}, for {owner}"
    ON_TOP = "the cache was not filled: {why}"


VALUES = {"needed_s": 3.4, "step_ms": 12.345, "size_mib": 2048, "owner": "Mine.on_epoch_end"}
TOLD = "it takes 3 s and 12.3 ms, of 2 GiB, for Mine.on_epoch_end"

GAINED = {"id": "cache", "gain": 2.0, "low": 1.9, "high": 2.1} | {"before_ms": 4.0, "after_ms": 2.0}


def kinds(base=Words):
    """All enumerations of sentences in the package."""
    found = [each for each in base.__subclasses__() if each.__module__.startswith("keras_perf")]
    return {each.__name__: each for each in found}


def written(reason):
    return json.loads(json.dumps(reason.to_json()))


def test_a_sentence_has_its_figures_in_their_units():
    assert Sample.TOO_LONG.of(**VALUES) == TOLD


def test_what_is_stored_are_a_word_and_values_and_what_is_read_is_the_sentence():
    told = Sample.ON_TOP.of(why=Sample.TOO_LONG.of(**VALUES))
    assert written(told) == {"word": "on-top", "why": {"word": "too-long", **VALUES}}
    read = worded(Sample)(written(told))
    assert read == told == f"the cache was not filled: {TOLD}"
    assert written(read) == written(told)
    assert written(pickle.loads(pickle.dumps(told))) == written(told)


def test_a_text_of_an_older_version_or_of_an_exception_stays_as_it_is():
    read = worded(Sample)("ValueError: no\nsuch file")
    assert read == "ValueError: no\\nsuch file"
    assert written(read) == read


def test_a_word_of_a_newer_version_is_shown():
    assert worded(Sample)({"word": "never-heard-of", "step_ms": 1.0}) == "never heard of"


@pytest.mark.parametrize(
    "values",
    [
        {},
        VALUES | {"needed_s": "long"},
        VALUES | {"step_ms": [1.0]},
        VALUES | {"size_mib": 10**400},
        VALUES | {"owner": None},
    ],
)
def test_a_wrong_value_costs_the_sentence(values):
    with pytest.raises(WrongShapeError):
        worded(Sample)({"word": "too-long", **values})


def test_sentences_in_sentences_without_end_cost_the_outermost():
    content = {"word": "on-top", "why": "of old"}
    for _ in range(5000):
        content = {"word": "on-top", "why": content}
    with pytest.raises(WrongShapeError):
        worded(Sample)(content)


def test_a_run_says_why_nothing_was_tried_as_it_did_when_it_was_written():
    why = WhyNoSteps.NO_ROOM.of(epochs="epochs", epoch_steps=4, steps_left=8)
    facts = RunFacts(trial=StepsTrial(not_tried=why))
    content = json.loads(json.dumps(facts.to_json()))
    assert content["steps_per_execution_trial"]["not_tried"]["steps_left"] == 8
    read, wrong = from_json(content)
    assert (read, wrong) == (facts, [])
    assert read.trial.reason == (
        "not tried: epochs of 4 steps, with 8 still to go, leave no room to try."
    )
    assert isinstance(read.trial.not_tried, Reason)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (NotTried, {"id": "cache", "why": WhyNotTried.SEVERAL_DATASETS.of()}),
        (TriedChange, GAINED | {"costs": Costs.KEPT.of(where=Costs.IN_MEMORY.of())}),
        (TriedChange, GAINED | {"costs": "much", "alters": Alters.WITHOUT.of(callback="Log")}),
        (BatchSize, {"batch_size": 8, "reason": WhyNotTrained.TOO_LONG.of(size=4)}),
        (AdviceTrials, {"step_ms": 1.0, "not_tried": (NotTried(id="a", why="ValueError: no"),)}),
    ],
)
def test_records_of_trials_keep_their_reasons(kind, values):
    made = kind(**values)
    content = json.loads(json.dumps(stored(made)))
    assert record(kind)(content) == made
    assert stored(record(kind)(content)) == content
    assert plain(made).get("reason") == values.get("reason")


@pytest.mark.parametrize("kind", kinds().values(), ids=str)
def test_every_sentence_is_read_as_it_was_written(kind):
    for word in kind:
        told = word.of(**dict.fromkeys(word.names, 3))
        assert worded(kind)(written(told)) == told


def test_each_sentence_is_given_just_what_stands_in_it():
    known, used = kinds(), set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match call:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Attribute(value=ast.Name(id=kind), attr=name), attr="of"
                    )
                ) if kind in known:
                    word = known[kind][name]
                    assert {each.arg for each in call.keywords} == word.names, (path, word)
                    used.add(word)
    assert used == {word for kind in known.values() for word in kind}
