"""Every code block of the README and the documentation is what it says it is."""

from __future__ import annotations

import json
import os
import re
import shlex
from importlib import import_module

import pytest
from pages import PAGES, ROOT, blocks

from keras_perf.cli.main import parser
from keras_perf.notebook.magic import _arguments
from keras_perf.running.options import options_of

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCKS = [block for page in PAGES for block in blocks(page) if not block.language.startswith("{")]


def loaded_yaml(text):
    if "CI" not in os.environ:
        pytest.importorskip("yaml", reason="PyYAML, of the extra test, is not installed")
    import yaml

    return yaml.safe_load(text)


def compiled(text):
    compile(text, "block", "exec")


def taken_by_a_notebook(text):
    """Cells of Python; a magic is one of ours, with options that it has."""
    magics = re.findall("^%.*", text, re.MULTILINE)
    for name, *options in map(shlex.split, magics):
        assert name in ("%load_ext", "%%keras_perf")
        if name == "%load_ext":
            assert options
            assert all(callable(import_module(each).load_ipython_extension) for each in options)
        else:
            options_of(_arguments().parse_args(options), "notebook")
    compiled(re.sub("^%.*", "", text, flags=re.MULTILINE))


def printed(text):
    """What a command prints: nothing that is to be typed."""
    assert re.findall(r"^(?:%|\$ |keras-perf |pip |python ).*", text, re.MULTILINE) == []


PARSED_BY = {
    "bash": str,  # Bash parses them in tests/processes.
    "ipython": taken_by_a_notebook,
    "json": json.loads,
    "python": compiled,
    "text": printed,
    "yaml": loaded_yaml,
}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_is_of_the_language_that_it_names(block):
    assert block.language in PARSED_BY
    PARSED_BY[block.language](block.text)


@pytest.mark.parametrize(
    ("parse", "wrong"),
    [
        (taken_by_a_notebook, "%%keras_perf --html report.html\nmodel.fit(dataset)"),
        (taken_by_a_notebook, "%load_ext keras_perf.of_nobody"),
        (taken_by_a_notebook, "%%keras_perf\nmodel.fit("),
        (printed, "%%keras_perf --quiet"),
    ],
)
def test_what_a_notebook_would_refuse_is_found(parse, wrong):
    with pytest.raises((AssertionError, ImportError, SyntaxError, ValueError)):
        parse(wrong)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "bash"], ids=str)
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
