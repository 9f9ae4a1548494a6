"""What a recommendation is called is written down once."""

import ast
from pathlib import Path

import keras_perf
from keras_perf.advise.rules.all_rules import RULES
from keras_perf.records import advice_ids

IDS = {value for name, value in vars(advice_ids).items() if name.isupper()}
KINDS_TOO = {"cache", "prefetch", "interleave"}
"""Stages of a pipeline are called so as well."""


def test_there_is_a_rule_of_each():
    assert {rule.id for rule in RULES} == IDS


def test_no_other_module_writes_them_again():
    folder = Path(keras_perf.__file__).parent
    texts = {
        (node.value, path.relative_to(folder))
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    written = {(text, str(path)) for text, path in texts if text in IDS - KINDS_TOO}
    assert {path for _, path in written} == {"records/advice_ids.py"}
