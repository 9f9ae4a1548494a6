"""What CONTRIBUTING.md names is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "keras_perf"


def test_every_file_that_is_named_is_there():
    named = set(re.findall(r"`([a-z_/]+\.py)`", TEXT))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (PACKAGE / name).exists()] == []


def test_every_folder_is_told_of():
    folders = {
        path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")
    } - {"."}
    told = set(re.findall(r"`([a-z_/]+)/`", TEXT))
    assert {folder.rpartition("/")[2] for folder in folders} <= {
        each.rpartition("/")[2] for each in told
    }
    assert {each for each in told if "docs" not in each} <= {
        *folders,
        *(folder.rpartition("/")[2] for folder in folders),
        "advise/notes",
    }
