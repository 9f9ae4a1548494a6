"""The table of injected faults in the documentation, made of the tests that inject them.

`python tests/unit/fault_table.py` writes it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "how_it_is_tested.md"
BEGIN, END = "<!-- faults: begin -->\n", "<!-- faults: end -->\n"

PROMISES = {
    1: "Training is never changed",
    2: "One bad value costs one value",
    3: "A run knows who it is",
}


def faults() -> Iterator[tuple[int, str, str, str]]:
    """Promise, fault, file and test of each `@pytest.mark.fault(promise, fault)`."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if ast.unparse(mark).startswith("pytest.mark.fault("):
                    promise, fault = (ast.literal_eval(each) for each in mark.args)
                    yield promise, fault, path.relative_to(TESTS).as_posix(), node.name


def tables() -> str:
    """A count, and of each promise a table."""
    found = list(faults())
    lines = [f"{len(found)} kinds of faults are injected:", ""]
    for promise, title in PROMISES.items():
        rows = [row for row in found if row[0] == promise]
        lines += [f"## {title}: {len(rows)}", "", "| fault | test |", "|---|---|"]
        lines += [f"| {fault} | `{file}`: `{test}` |" for _, fault, file, test in rows]
        lines.append("")
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with the tables of today."""
    head, _, rest = text.partition(BEGIN)
    return f"{head}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
