"""`make test-gpu`, with a Python that installs and measures nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PYTHON = """#!/bin/sh
echo "$0 $* on $KERAS_BACKEND" >> "$TOLD"
case "$1 $2" in
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python";;
esac
case "$* on $KERAS_BACKEND" in
  $ENDS) exit $CODE;;
esac
"""


@pytest.fixture
def make(tmp_path):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)

    def run(ends, code):
        told = tmp_path / "told"
        environ = os.environ | {"TOLD": str(told), "ENDS": ends, "CODE": str(code)}
        environ.pop("KERAS_BACKEND", None)
        environ.pop("MAKEFLAGS", None)
        # What an outer make was given stands in the environment.
        folders = ["VENV=.venv", "PYTORCH=.venv-pytorch", "EXTRA=dev", "CONSTRAINTS="]
        command = ["make", "--no-print-directory", "-C", tmp_path, "test-gpu", f"PYTHON={python}"]
        command += folders
        done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)
        lines = told.read_text(encoding="utf-8").splitlines()
        ran = [line.split("benchmarks/on_a_gpu/")[1] for line in lines if "on_a_gpu/" in line]
        return done, ran

    return run


ALL = ["gpu_readings.py on ", "gpu_training.py on tensorflow", "gpu_training.py on jax"]


@pytest.mark.parametrize(
    ("ends", "code", "good"),
    [
        ("nothing", 0, True),
        ("*gpu_training.py on jax", 77, True),
        ("*gpu_training.py on jax", 1, False),
        ("*gpu_training.py on tensorflow", 2, False),
        ("*gpu_readings.py*", 1, False),
        ("*gpu_readings.py*", 77, False),
    ],
)
def test_all_is_run_and_only_a_backend_that_finds_no_gpu_may_be_skipped(make, ends, code, good):
    done, ran = make(ends, code)
    assert ran == ALL
    assert (done.returncode == 0) == good


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("*install*[[]cuda[]]*", "Packages of [cuda]: not installed"),
        ("*install*[[]jax-cuda[]]*", "Packages of [jax-cuda]: not installed"),
        ("*install*torch*", "PyTorch, which has CUDA's events: not installed"),
    ],
)
def test_what_cannot_be_installed_is_named_and_leaves_the_rest(make, ends, said):
    done, ran = make(ends, 1)
    assert ran == ALL
    assert done.returncode == 0
    assert said in done.stdout
