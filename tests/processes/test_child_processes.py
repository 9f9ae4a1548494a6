"""CPU time of processes that this one has started, of some that compute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("computing_child.py")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_pythons_set_of_its_children_has_those_that_compute(start):
    """It is no public one: this fails when Python keeps it otherwise.

    In a Python of its own: one in which another test has started JAX is not to be forked.
    """
    command = [sys.executable, "-W", "error", str(PROGRAM), start]
    found = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert found.returncode == 0, found.stderr
