"""What Keras computed with differs in one table; a reader asks for what differs, not for a name."""

import ast
import importlib
from pathlib import Path

import pytest

import keras_perf
from keras_perf.records.observed_backends import OBSERVED
from keras_perf.records.run import library
from keras_perf.records.run.library import JAX, TENSORFLOW, Library, library_of
from keras_perf.records.run.run_facts import RunFacts

FOLDER = Path(keras_perf.__file__).parent
NAMED = {name: value for name, value in vars(library).items() if isinstance(value, Library)}
LIBRARIES = set(NAMED.values())


def modules_that_name_one():
    """Those that import one of them by its name."""
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            found = isinstance(node, ast.ImportFrom) and node.module == library.__name__
            if found and NAMED.keys() & {each.name for each in node.names}:
                yield path


def test_each_backend_that_is_observed_has_one():
    assert {each.backend for each in LIBRARIES} == set(OBSERVED)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({"tensorflow": "2.21.0", "keras": "3.15.1"}, TENSORFLOW),
        ({"jax": "0.11.2", "keras": "3.15.1"}, JAX),
        ({}, TENSORFLOW),
    ],
)
def test_the_versions_tell_which_it_was(versions, expected):
    assert library_of(RunFacts(versions=versions)) is expected


def test_where_texts_differ_each_has_one_and_nobody_compares_names():
    modules = set(modules_that_name_one())
    assert modules
    for path in modules:
        name = ".".join((keras_perf.__name__, *path.relative_to(FOLDER).with_suffix("").parts))
        values = vars(importlib.import_module(name)).values()
        tables = [each for each in values if isinstance(each, dict) and LIBRARIES & set(each)]
        assert tables
        assert all(set(table) == LIBRARIES for table in tables)
        compared = [
            side
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Compare)
            for side in (node.left, *node.comparators)
            if isinstance(side, ast.Name) and side.id in NAMED
        ]
        assert not compared
