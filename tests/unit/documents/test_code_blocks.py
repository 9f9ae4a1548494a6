"""Every code block of the README and the documentation is what it says it is."""

from __future__ import annotations

import json
import os
import re
import shlex

import pytest
from pages import PAGES, ROOT, blocks

from keras_perf.cli.main import parser

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCKS = [block for page in PAGES for block in blocks(page) if not block.language.startswith("{")]


def loaded_yaml(text):
    if "CI" not in os.environ:
        pytest.importorskip("yaml", reason="PyYAML, of the extra test, is not installed")
    import yaml

    return yaml.safe_load(text)


def compiled(text):
    """Python; a notebook's magics are no part of it."""
    compile(re.sub("^%.*", "", text, flags=re.MULTILINE), "block", "exec")


PARSED_BY = {
    "": str,  # Commands, or what they print.
    "bash": str,  # Bash parses them in tests/processes.
    "ipython": compiled,
    "json": json.loads,
    "python": compiled,
    "text": str,
    "yaml": loaded_yaml,
}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_is_of_the_language_that_it_names(block):
    assert block.language in PARSED_BY
    PARSED_BY[block.language](block.text)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language in ("", "bash")], ids=str)
def test_our_commands_take_these_arguments(block):
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith("keras-perf "):
            parser().parse_args(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_scripts_and_targets_that_a_page_names_are_there(page):
    text = page.read_text(encoding="utf-8")
    scripts = re.findall(r"python ((?:benchmarks|docs|notebooks|tests)/\S+\.py)", text)
    assert [script for script in scripts if not (ROOT / script).is_file()] == []
    targets = re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)
    assert [name for name in targets if f"\n{name}:" not in MAKEFILE] == []
