"""What users read names the quantity and who does what."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator

import pages
import pytest

import keras_perf.loop

HARD_TO_READ = re.compile(
    r"\b(so many|by so much|that of|of anyone|any(one|body)'s|(is|are|was|were) (told|said))\b",
    re.I,
)
"""Where a number, an owner or whoever acts is left out."""

PACKAGE = pages.ROOT / "keras_perf"
CHANGELOG = pages.ROOT / "CHANGELOG.md"


def hard_in(text: str) -> list[str]:
    return [match[0] for match in HARD_TO_READ.finditer(" ".join(text.split()))]


@pytest.mark.parametrize("page", [*pages.PAGES, CHANGELOG], ids=lambda page: page.name)
def test_pages_name_the_quantity_and_who_acts(page):
    assert hard_in(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "notebook", sorted((pages.ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name
)
def test_notebooks_do_too(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [hard for cell in cells for hard in hard_in("".join(cell["source"]))] == []


def spoken(tree: ast.Module) -> Iterator[str]:
    """String literals that may reach a user: no docstrings."""
    told_apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in told_apart:
            yield node.value


def test_what_the_program_says_names_them_too():
    found = [
        (path.relative_to(PACKAGE).as_posix(), text)
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in spoken(ast.parse(path.read_text(encoding="utf-8")))
        if hard_in(text)
    ]
    assert found == []


def public_docs() -> Iterator[tuple[str, str]]:
    """Of what `keras_perf` and `keras_perf.loop` export, and of the public names in it."""
    exported = [(of, name) for of in (keras_perf, keras_perf.loop) for name in of.__all__]
    for of, name in exported:
        public = getattr(of, name)
        if not callable(public):
            continue
        members = vars(public).items() if inspect.isclass(public) else ()
        for member, each in [("", public), *members]:
            if not member.startswith("_"):
                yield f"{name}.{member}".rstrip("."), inspect.getdoc(each) or ""


def test_the_documentation_of_the_interface_does_so_too():
    assert [(name, hard) for name, text in public_docs() if (hard := hard_in(text))] == []


@pytest.mark.parametrize(
    "text", ["every so\nmany steps", "the gain is told over all", "a trace of anyone's", "Is said."]
)
def test_what_is_hard_to_read_is_found(text):
    assert hard_in(text)
