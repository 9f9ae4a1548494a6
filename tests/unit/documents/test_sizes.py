"""A module is read in one sitting, a function in one glance."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from pages import ROOT

PACKAGE = ROOT / "keras_perf"
MOST_LINES = 250
MOST_LINES_OF_A_BODY = 40
MOST_MODULES = 14

RULE = "a rule: what it asks, changes and says, beside each other to be checked against each other"
LONGER = {
    ("advise/rules/input/batching.py", "batch_before_map"): RULE,
    ("advise/rules/input/caching.py", "cache"): RULE,
    ("advise/rules/input/caching_for_shuffle.py", "cache_for_a_shuffle"): RULE,
    ("advise/rules/workers.py", "balance_workers"): RULE,
    ("loop/template.py", "train"): "a loop to copy and edit, read from top to bottom",
    ("trace/device.py", "_columns"): "a line for each column, all made of the same few arrays",
}
"""Functions with longer bodies, and why a cut would hide something."""


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Of its body, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def functions() -> Iterator[tuple[tuple[str, str], int]]:
    for name, text in modules():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (name, node.name), lines_of(node)


def test_no_module_is_longer_than_one_reads_in_one_sitting():
    lengths = {name: text.count("\n") for name, text in modules()}
    assert {name: count for name, count in lengths.items() if count > MOST_LINES} == {}


def test_no_folder_holds_more_modules_than_one_looks_through():
    counts = Counter(name.rpartition("/")[0] for name, _ in modules() if "__init__" not in name)
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_no_function_is_longer_than_one_sees_at_a_glance_but_those_with_a_reason():
    longer = {where: lines for where, lines in functions() if lines > MOST_LINES_OF_A_BODY}
    assert {where: lines for where, lines in longer.items() if where not in LONGER} == {}


def test_what_may_be_longer_is():
    lengths = dict(functions())
    assert all(lengths[where] > MOST_LINES_OF_A_BODY for where in LONGER)


def test_a_body_is_counted_without_its_docstring():
    [function] = ast.parse('def f():\n    """Two\n    lines."""\n    x = 1\n\n    return x\n').body
    assert lines_of(function) == 3
