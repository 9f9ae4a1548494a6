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
HOW_TESTED = PAGE.with_name("how_it_is_tested.md")


def test_every_row_names_a_test_that_is_there():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith('| "')]
    assert len(rows) >= 15
    for row in rows:
        assert_is_there(row)


def test_so_does_every_row_of_what_is_shown_on_programs_and_on_facts():
    told = HOW_TESTED.read_text(encoding="utf-8").partition("<!-- shown: begin -->")[2]
    rows = told.partition("<!-- shown: end -->")[0].strip().splitlines()[2:]
    assert len(rows) >= 15
    for row in rows:
        assert_is_there(row)


def assert_is_there(row):
    proofs = re.findall(r"`([a-z_/]+\.py)(?:::(\w+)(?:\[(\w+)\])?)?`", row)
    assert proofs, row
    for file, name, scenario in proofs:
        text = (TESTS / file).read_text(encoding="utf-8")
        assert f"def {name}(" in text or not name, row
        known = f"\ndef {scenario}(callbacks" in SCENARIOS
        assert known if scenario else file != OF_SCENARIOS, row


def test_every_symptom_is_one_of_the_table_and_linked_from_the_page():
    text = PAGE.read_text(encoding="utf-8")
    said = re.findall(r'"([^"]+)"', "".join(re.findall(r'^\| ("[^|]*)\|', text, re.MULTILINE)))
    pages = sorted((PAGE.parent / "symptoms").glob("*.md"))
    assert len(pages) >= 15
    for page in pages:
        title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        assert title in said
        assert f"[{title}](symptoms/{page.name})" in text
