"""What is written of a run is what is read of it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keras_perf
from keras_perf.records.run.length import Length
from keras_perf.records.run.run_facts import FORMAT, KEYS, RunFacts, from_json
from keras_perf.records.run.settings import Settings
from keras_perf.records.run.times.exchange import ExchangeFacts
from keras_perf.records.run.times.outlier import Cause, Outlier

PACKAGE = Path(keras_perf.__file__).parent
TEXT = st.text(st.characters(categories=("L", "N", "P")), max_size=9)
EXCHANGES = st.builds(ExchangeFacts, st.just(9), st.integers(1, 99), st.none() | st.just(2.0))


def any_value(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field of this type; its numbers are such as every shape allows."""
    if hint is ExchangeFacts:
        return EXCHANGES
    if is_dataclass(hint):
        return any_record(hint)
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(st.none(), *(any_value(each) for each in inside if each is not NoneType))
    if origin is tuple:
        return st.lists(any_value(inside[0]), min_size=2, max_size=3).map(tuple)
    if origin is not None:
        return st.dictionaries(any_value(inside[0]), any_value(inside[1]), max_size=2)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    kinds = {int: st.integers(2, 9), float: st.floats(0.25, 1.0), bool: st.booleans(), str: TEXT}
    return kinds[hint]


def any_record(kind: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{each.name: any_value(hints[each.name]) for each in fields(kind)})


LENGTHS = st.builds(Length, st.integers(0, 9), st.integers(10, 99), st.none() | st.just(5))
FACTS = any_record(RunFacts).flatmap(lambda f: LENGTHS.map(lambda length: _with(f, length)))


def _with(facts: RunFacts, length: Length) -> RunFacts:
    return RunFacts(**{f.name: getattr(facts, f.name) for f in fields(facts)} | {"length": length})


def read(facts: RunFacts) -> tuple[RunFacts, list[str]]:
    return from_json(json.loads(json.dumps(facts.to_json())))


@given(FACTS)
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(facts):
    assert read(facts) == (facts, [])


def test_nothing_known_is_written_as_the_defaults():
    assert read(RunFacts()) == (RunFacts(), [])
    assert RunFacts().to_json()["format"] == FORMAT


def test_a_key_that_no_fact_has_is_an_error_where_facts_are_handed_over():
    with pytest.raises(KeyError, match="no fact is called epoch_step, steps_per_epoch"):
        RunFacts().told({"epoch_step": 3, "steps_per_epoch": 3, "epochs": 2})


def test_every_question_is_for_a_fact():
    asked = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and _gives_questions(node):
                returned = [each for each in ast.walk(node) if isinstance(each, ast.Return)]
                asked |= {key for each in returned for key in _keys_in(each)}
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "learn":
                asked |= set(_keys_in(node))
    assert len(asked) > 40
    assert asked <= KEYS


def _gives_questions(function: ast.FunctionDef) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "Questions"


def _keys_in(node: ast.AST) -> Iterator[str]:
    """Of the dicts in it, but not of those within their values."""
    if isinstance(node, ast.Dict):
        yield from (each.value for each in node.keys if isinstance(each, ast.Constant))
    elif not isinstance(node, ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _keys_in(child)


def test_unknown_keys_are_kept_out():
    assert from_json({"epochs": 3, "of_a_later_version": [1]}) == (
        RunFacts(length=Length(epochs=3)),
        [],
    )


@pytest.mark.fault(2, "one wrong value in each part of the record")
@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ({"epochs": -3}, "epochs"),
        ({"jit_compile": "yes"}, "jit_compile"),
        ({"exchange": {"workers": 2, "bytes_per_step": 8, "slowest_worker": 1}}, "exchange"),
        ({"stages": [{"name": "Map"}]}, "stages"),
        ({"dataset": {"chains": []}}, "dataset"),
        ({"outside": {"epoch_gaps": 1}}, "outside"),
        ({"threads": {"inter_op": None}}, "threads"),
    ],
)
def test_a_wrong_value_costs_itself_and_is_named(written, wrong):
    facts, named = from_json({"optimizer": "Adam", **written})
    assert (facts, named) == (RunFacts(settings=Settings(optimizer="Adam")), [wrong])


def test_a_wrong_field_of_a_part_costs_the_field():
    stage = {"name": "Map", "cost_ms": 2.0, "parallelism": 1, "bytes_per_batch": 0.0}
    facts, named = from_json({"stages": [{**stage, "buffered": "many"}]})
    assert named == ["stages"]
    assert (facts.input.stages[0].cost_ms, facts.input.stages[0].buffered) == (2.0, 0)


def test_of_a_list_of_events_a_wrong_one_costs_itself():
    event = {"step": 3, "cause": "callback", "owner": "A.b", "excess_ms": 9.0, "usual_ms": 1.0}
    facts, named = from_json({"events": [event, {**event, "cause": "moon"}]})
    assert facts.outliers.events == (Outlier(3, Cause.CALLBACK, "A.b", 9.0, 1.0),)
    assert named == ["events"]


def test_a_trial_of_an_earlier_version_keeps_its_figures():
    facts, named = from_json(
        {
            "steps_per_execution_trial": {
                "recommended": 8,
                "predicted_speedup": 1.5,
                "reason": "a step costs 6 ms inside the graph, an execution 4 ms more.",
                "evidence": {"in_graph_ms": 6.0, "per_execution_ms": 4.0, "steps_per_execution": 1},
            }
        }
    )
    assert named == []
    assert facts.trial is not None
    assert (facts.trial.steps_per_execution, facts.trial.present) == (8, 1)
    assert facts.trial.reason.startswith("a step costs 6 ms inside the graph, an execution 4 ms")


def test_why_an_earlier_version_did_not_try_is_kept():
    facts, _ = from_json({"steps_per_execution_trial": {"reason": "not tried: too few steps."}})
    assert facts.trial is not None
    assert facts.trial.reason == "not tried: too few steps."


def test_of_a_part_with_a_name_what_can_be_read_is_kept():
    whole = {"file": "train.py", "line": 3, "name": "f"}
    found, wrong = from_json(
        {"hook_sources": {"A.on_epoch_end": {**whole, "name": 0.5}, "B.x": whole}}
    )
    assert wrong == ["hook_sources"]
    assert {name: (line.line, line.name) for name, line in found.hook_sources.items()} == {
        "A.on_epoch_end": (3, ""),
        "B.x": (3, "f"),
    }
