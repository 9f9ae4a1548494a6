"""What the documentation writes for bash, in a bash: every block, and the job of Slurm."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess

import pytest
from pages import DOCS, PAGES, blocks

from keras_perf.cluster.exit_codes import EXIT_PEER_LOST, EXIT_SAVED
from keras_perf.loop import template

PAGE = DOCS / "clusters.md"
BLOCKS = [block for page in PAGES for block in blocks(page) if block.language == "bash"]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_bash_parses_every_block_that_names_it(block):
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


@pytest.fixture(scope="module")
def script():
    [job] = [block.text for block in BLOCKS if block.page == PAGE and "#SBATCH" in block.text]
    return job


# https://slurm.schedmd.com/srun.html
OF_SRUN = {"--distribution", "--kill-on-bad-exit"}


def ended_with(codes, script, folder, **more):
    """The exit code of the job's script, and what it called, where its tasks end with codes.

    `srun` ends with the highest: https://slurm.schedmd.com/srun.html, RETURN VALUE.
    """
    for command, ends in (("srun", max(codes)), ("scontrol", 0)):
        stand_in = folder / command
        stand_in.write_text(
            f'#!/bin/bash\nprintf "%q " {command} "$@" >> calls; echo >> calls\nexit {ends}\n'
        )
        stand_in.chmod(0o755)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": "/home/me", "SLURM_JOB_ID": "4711"}
    environ |= more
    done = subprocess.run(["bash", "-u"], input=script, text=True, cwd=folder, env=environ)
    lines = (folder / "calls").read_text(encoding="utf-8").splitlines()
    return done.returncode, [shlex.split(line) for line in lines]


def test_the_tasks_of_slurm_are_given_what_train_py_reads(script, tmp_path):
    _, [[srun, *given]] = ended_with([0], script, tmp_path)
    program = given.index("python")
    assert (srun, given[program + 1]) == ("srun", "train.py")
    assert {option.partition("=")[0] for option in given[:program]} == OF_SRUN
    args = template.arguments(given[program + 2 :])
    assert (args.strategy, args.steps) == ("multi-worker", 400)
    assert args.log_dir != args.checkpoint_dir
    assert args.log_dir.startswith("/home/me/")


KILLED, OUT_OF_MEMORY = 128 + signal.SIGKILL, 253


@pytest.mark.parametrize(
    ("codes", "again"),
    [
        ([0, 0], False),
        ([1, 1], False),
        ([2, 2], False),
        ([EXIT_SAVED, EXIT_SAVED], True),
        ([EXIT_PEER_LOST, KILLED], True),
        ([EXIT_PEER_LOST, OUT_OF_MEMORY], True),
        ([EXIT_PEER_LOST, 1], True),
    ],
)
@pytest.mark.parametrize("restarts", [{}, {"SLURM_RESTART_COUNT": "19"}])
def test_a_job_of_slurm_runs_again_where_a_worker_was_saved_or_lost(
    codes, again, restarts, script, tmp_path
):
    ended, calls = ended_with(codes, script, tmp_path, **restarts)
    assert ended == max(codes)
    assert calls[1:] == ([["scontrol", "requeue", "4711"]] if again else [])


@pytest.mark.parametrize("code", [EXIT_SAVED, EXIT_PEER_LOST, KILLED])
def test_a_job_of_slurm_does_not_run_again_for_ever(code, script, tmp_path):
    ended, calls = ended_with([code], script, tmp_path, SLURM_RESTART_COUNT="20")
    assert (ended, len(calls)) == (code, 1)
    assert "20 times" in PAGE.read_text(encoding="utf-8")
