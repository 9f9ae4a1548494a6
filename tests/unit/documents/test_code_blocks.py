"""Every code block of the README and the documentation is what it says it is."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess

import pytest
from pages import PAGES, blocks

from keras_perf.cli.main import parser

BLOCKS = [block for page in PAGES for block in blocks(page) if not block.language.startswith("{")]


def loaded_yaml(text):
    if "CI" not in os.environ:
        pytest.importorskip("yaml", reason="PyYAML, of the extra test, is not installed")
    import yaml

    return yaml.safe_load(text)


def parsed_by_bash(text):
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def compiled(text):
    """Python; a notebook's magics are no part of it."""
    compile(re.sub("^%.*", "", text, flags=re.MULTILINE), "block", "exec")


PARSED_BY = {
    "": str,  # Commands, or what they print.
    "bash": parsed_by_bash,
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
