"""Every row of the page of complaints is proved by a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[2]
PAGE = TESTS.parent / "docs" / "why_is_my_training_slow.md"


def test_every_row_names_a_test_that_is_there():
    rows = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith('| "')
    ]
    assert len(rows) >= 15
    for row in rows:
        [(file, name)] = re.findall(r"`([a-z_/]+\.py)::(\w+)`", row)
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), row
