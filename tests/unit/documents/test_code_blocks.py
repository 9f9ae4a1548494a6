"""Every code block of the README and the documentation is what it says it is."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess

import pytest
from pages import DOCS, PAGES, ROOT, blocks

from keras_perf.cli.main import parser

BLOCKS = [block for page in PAGES for block in blocks(page) if not block.language.startswith("{")]
TEMPLATE = (ROOT / "keras_perf" / "loop" / "template.py").read_text(encoding="utf-8")


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


def test_the_clusters_recipes_give_the_template_options_that_it_has():
    text = "".join(block.text for block in blocks(DOCS / "clusters.md"))
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text))
    of_train_py = {"--strategy", "--log-dir", "--checkpoint-dir", "--steps"}
    assert of_train_py <= options
    assert [option for option in of_train_py if f'"{option}"' not in TEMPLATE] == []


def test_the_job_of_kubernetes_is_one_that_its_operator_takes():
    jobs = [loaded_yaml(b.text) for b in blocks(DOCS / "clusters.md") if b.language == "yaml"]
    [job] = [job for job in jobs if job.get("kind") == "TFJob"]
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    [container] = worker["template"]["spec"]["containers"]
    assert container["name"] == "tensorflow"
    volumes = {volume["name"] for volume in worker["template"]["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
