"""The pages that users read, their code blocks and their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

_FENCE = re.compile(r"^( *)(`{3,}|:{3,})(\S*)[^\n]*\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, its language, its text without indentation."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        indent, _, language, code = match.groups()
        dedented = re.sub(f"^{indent}", "", code, flags=re.MULTILINE)
        yield Block(page, text.count("\n", 0, match.start()) + 1, language, dedented)


def without_blocks(page: Path) -> str:
    """A page's prose."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def heading_anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them, and the labels before headings."""
    prose = without_blocks(page)
    anchors = set(re.findall(r"^\(([\w-]+)\)=$", prose, re.MULTILINE))
    for title in re.findall(r"^#+ (.+)$", prose, re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", title.lower())
        anchors |= {kept.strip().replace(" ", "-")}
    return anchors
