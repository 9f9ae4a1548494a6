"""Writes the figures that the documentation states from the newest results, and nothing by hand.

    python benchmarks/figures.py

What stands in a page of docs/ or in README.md between `<!-- figures: NAME -->` and
`<!-- end of figures -->` is made here, from the newest file of `benchmarks/results/` that has the
benchmark. NAME is `in five` or one of
`shown_figures.blocks.BLOCKS`. A test fails where a page says something else.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from shown_figures.blocks import BLOCKS
from shown_figures.in_five import in_five
from shown_figures.parts import Found

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
BLOCK = re.compile(r"(<!-- figures: (.+?) -->\n)(.*?)(<!-- end of figures -->)", re.S)


def newest(folder: Path = RESULTS) -> dict[str, Found]:
    """By benchmark, what was found last."""
    found: dict[str, Found] = {}
    for file in sorted(folder.glob("*.json")):
        for name, each in json.loads(file.read_text(encoding="utf-8"))["benchmarks"].items():
            if name not in found or each["at"] > found[name]["at"]:
                found[name] = each
    return found


def pages() -> list[Path]:
    """Which may state figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def renewed(text: str, every: dict[str, Found]) -> str:
    """A page with today's figures."""

    def block(match: re.Match[str]) -> str:
        begin, name, _, end = match.groups()
        if name == "in five":
            return f"{begin}{in_five(every)}\n{end}"
        return f"{begin}{BLOCKS[name](every[name.split()[0]])}\n{end}"

    return BLOCK.sub(block, text)


def write() -> None:
    """Brings every page up to date."""
    every = newest()
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (new := renewed(text, every)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(ROOT)} has the newest figures")


if __name__ == "__main__":
    write()
