"""`make test-matrix`, with a Python that installs and tests nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYTHON = """#!/bin/sh
echo "$0 $*" >> "$TOLD"
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python";;
esac
case "$0 $*" in
  $FAILS) exit 1;;
esac
"""


@pytest.fixture
def make(tmp_path):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tests" / "matrix", tmp_path / "tests" / "matrix")
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)

    def run(fails, versions="2.20 2.21"):
        told = tmp_path / "told"
        environ = os.environ | {"TOLD": str(told), "FAILS": fails}
        environ.pop("MAKEFLAGS", None)
        command = ["make", "--no-print-directory", "-C", tmp_path, "test-matrix"]
        command += [f"PYTHON={python}", f"TENSORFLOWS={versions}"]
        done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("Tensor", "Keras"))]
        return done.returncode, lines, told.read_text(encoding="utf-8")

    return run


def test_all_are_tested_and_keras_nightly_takes_the_place_of_keras(make):
    code, lines, told = make(fails="nothing")
    assert code == 0
    assert lines == [
        "Keras's nightly: passed",
        "TensorFlow 2.20: passed",
        "TensorFlow 2.21: passed",
    ]
    own = [line for line in told.splitlines() if line.startswith(".venv-keras-nightly/")]
    assert [line.split()[3] for line in own] == ["install", "install", "uninstall", "install", "-n"]
    assert own[-2].endswith("--pre keras-nightly")


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("*nightly/bin/python -m pytest*", "FAILED, which is a warning"),
        ("*install*--pre keras-nightly", "could not be installed, and was not tested"),
        ("*-m venv .venv-keras-nightly", "could not be installed, and was not tested"),
    ],
)
def test_what_the_nightly_breaks_is_a_warning(make, fails, said):
    code, lines, _ = make(fails)
    assert code == 0
    assert lines[0] == f"Keras's nightly: {said}"
    assert lines[1:] == ["TensorFlow 2.20: passed", "TensorFlow 2.21: passed"]


def test_a_tensorflow_that_fails_leaves_the_others_and_the_nightly_to_be_tested(make):
    code, lines, _ = make(fails="*tf-2.20/bin/python -m pytest*")
    assert code != 0
    assert lines == [
        "Keras's nightly: passed",
        "TensorFlow 2.20: FAILED",
        "TensorFlow 2.21: passed",
    ]


def test_jax_is_there_where_the_oldest_keras_knows_it(make):
    _, _, told = make(fails="nothing", versions="2.16 2.21")
    installed = [line.split("-e ")[1] for line in told.splitlines() if " -e " in line]
    assert [extra for extra in installed if "dev" not in extra] == [".[test]", ".[test,jax]"]
    for version, known in (("2.16", False), ("2.21", True)):
        pinned = (ROOT / f"tests/matrix/tf-{version}.txt").read_text(encoding="utf-8")
        [keras] = re.findall(r"keras==3\.(\d+)", pinned)
        assert (int(keras) >= 10) == known
