"""Every row of the page of complaints is proved by a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
OF_SCENARIOS = "scenarios/test_scenarios.py"
SCENARIOS = "".join(
    (TESTS / "scenarios" / f"{name}.py").read_text(encoding="utf-8")
    for name in ("bottlenecks", "complaints", "complaints_of_epochs")
)
PAGE = TESTS.parent / "docs" / "why_is_my_training_slow.md"


def test_every_row_names_a_test_that_is_there():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith('| "')]
    assert len(rows) >= 15
    for row in rows:
        proofs = re.findall(r"`([a-z_/]+\.py)::(\w+)(?:\[(\w+)\])?`", row)
        assert proofs, row
        for file, name, scenario in proofs:
            assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), row
            assert (
                f"\ndef {scenario}(callbacks" in SCENARIOS if scenario else file != OF_SCENARIOS
            ), row


def test_every_symptom_is_one_of_the_table_and_linked_from_the_page():
    text = PAGE.read_text(encoding="utf-8")
    said = re.findall(r'"([^"]+)"', "".join(re.findall(r'^\| ("[^|]*)\|', text, re.MULTILINE)))
    pages = sorted((PAGE.parent / "symptoms").glob("*.md"))
    assert len(pages) >= 15
    for page in pages:
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert title in said
        assert f"[{title}](symptoms/{page.name})" in text
