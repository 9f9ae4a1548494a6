"""Every link of the README and the documentation leads somewhere."""

from __future__ import annotations

import re

import pytest
from pages import PAGES, README, ROOT, heading_anchors, without_blocks


def test_every_picture_is_on_a_page():
    shown = {
        (page.parent / path).resolve()
        for page in PAGES
        for path in re.findall(r"!\[[^\]]*\]\(([^)\s]+)", without_blocks(page))
    }
    assert set((ROOT / "docs").rglob("*.png")) <= shown


def test_the_readme_is_short():
    assert len(README.read_bytes()) <= 12 * 1024


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_has_a_target(page):
    for target in re.findall(r"\]\(<?([^)\s>]+)", without_blocks(page)):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in heading_anchors(linked), target
