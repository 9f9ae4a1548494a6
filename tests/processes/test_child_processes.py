"""CPU time of processes that this one has started, of some that compute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from keras_perf.trials.environment import process

PROGRAM = Path(__file__).with_name("computing_child.py")

CHILD = """
import os, sys, time
from keras_perf.trials.other_process.parent import end_with_parent
end_with_parent(int(sys.argv[1]) or os.getppid())
print(os.getpid(), flush=True)
time.sleep(600)
"""
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}, '0'])"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells")
@pytest.mark.parametrize("start", ["fork", "spawn", "forkserver"])
def test_pythons_set_of_its_children_has_those_that_compute(start):
    """It is no public one: this fails when Python keeps it otherwise.

    In a Python of its own: one in which another test has started JAX is not to be forked.
    """
    command = [sys.executable, "-W", "error", str(PROGRAM), start]
    found = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert found.returncode == 0, found.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends it")
def test_a_trial_in_another_process_does_not_outlive_a_program_that_is_killed():
    program = [sys.executable, "-c", PARENT]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        assert psutil.wait_procs([child], timeout=180)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends it")
def test_nor_one_that_was_killed_before_the_trial_could_ask():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for child in (["-c", CHILD], ["-m", process.CHILD, "no folder"]):
        orphan = [sys.executable, *child, str(gone.pid)]
        assert subprocess.run(orphan, capture_output=True, timeout=180).returncode == 1
