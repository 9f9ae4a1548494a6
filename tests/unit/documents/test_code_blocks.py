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


def in_language(*languages):
    chosen = [block for block in BLOCKS if block.language in languages]
    return pytest.mark.parametrize("block", chosen, ids=str)


def test_every_block_names_its_language():
    known = {"bash", "json", "python", "text", "yaml"}
    assert {str(block) for block in BLOCKS if block.language not in known} == set()


@in_language("python")
def test_python_compiles(block):
    compile(block.text, str(block), "exec")


@in_language("json")
def test_json_loads(block):
    json.loads(block.text)


@in_language("yaml")
def test_yaml_loads(block):
    if "CI" not in os.environ:
        pytest.importorskip("yaml", reason="PyYAML, of the extra test, is not installed")
    import yaml

    assert yaml.safe_load(block.text)


@in_language("bash")
def test_bash_parses(block):
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


@in_language("bash")
def test_our_commands_take_these_arguments(block):
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["keras-perf"]:
            parser().parse_args(words[1:])


def test_the_clusters_recipes_give_the_template_options_that_it_has():
    text = "".join(block.text for block in blocks(DOCS / "clusters.md"))
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", text))
    of_train_py = {"--strategy", "--log-dir", "--checkpoint-dir", "--steps"}
    assert of_train_py <= options
    assert [option for option in of_train_py if f'"{option}"' not in TEMPLATE] == []


def test_the_job_of_kubernetes_is_one_that_its_operator_takes():
    yaml = pytest.importorskip("yaml", reason="PyYAML, of the extra test, is not installed")
    jobs = [yaml.safe_load(b.text) for b in blocks(DOCS / "clusters.md") if b.language == "yaml"]
    [job] = [job for job in jobs if job.get("kind") == "TFJob"]
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    [container] = worker["template"]["spec"]["containers"]
    assert container["name"] == "tensorflow"
    volumes = {volume["name"] for volume in worker["template"]["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
