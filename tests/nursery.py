"""Processes with TensorFlow, started quickly, and in a network of their own with only loopback.

TensorFlow's server for several workers listens on all interfaces and knows no passwords.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from contradictions.checked import written_below

IN_NAMESPACE = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


def namespaces_work():
    """Whether this machine lets the user make a network namespace."""
    try:
        tried = subprocess.run([*IN_NAMESPACE, "true"], capture_output=True, timeout=30)
    except FileNotFoundError:
        return False
    return tried.returncode == 0


class Nursery:
    """Starts workers by forking a process that has imported TensorFlow.

    Arguments:
        folder: for the workers' outputs; each group has one of its own in it.
    """

    def __init__(self, folder):
        self._folder = folder
        self._numbers = itertools.count()
        self._groups = []
        apart = IN_NAMESPACE if namespaces_work() else []
        with open(folder / "forking_output", "wb") as errors:
            self._process = subprocess.Popen(
                [*apart, sys.executable, str(Path(__file__).with_name("forking.py"))],
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                env={k: v for k, v in os.environ.items() if k != "TF_CONFIG"},
            )

    def start(
        self, count, job, *, cluster=None, indices=None, environ=(), whole_exit=False, **arguments
    ):
        """A group of `count` workers that each do a job.

        Arguments:
            job: `module:function`, called with (rank, folder, **arguments); what it returns is
                the worker's result, and an integer also its exit code.
            cluster: how many workers TF_CONFIG names; as many as there are, where there are
                several.
            indices: the workers' indices in TF_CONFIG.
            environ: further variables.
            whole_exit: end by way of Python's own end, which takes TensorFlow five seconds.
        """
        number = next(self._numbers)
        folder = self._folder / f"group_{number}"
        folder.mkdir()
        cluster = cluster or (count if count > 1 else 0)
        ports = range(20000 + 10 * number, 20000 + 10 * number + cluster)
        request = {
            "folder": str(folder),
            "count": count,
            "job": job,
            "addresses": [f"127.0.0.1:{port}" for port in ports],
            "indices": indices or list(range(count)),
            "environ": dict(environ),
            "whole_exit": whole_exit,
            "path": sys.path,
            "arguments": arguments,
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        group = Group(folder, count)
        self._groups.append(group)
        return group

    def run(self, count, job, *, limit_s=200, **arguments):
        """The group, when it has ended and nothing failed; what it wrote agrees with itself."""
        group = self.start(count, job, **arguments)
        codes = group.codes(limit_s)
        assert codes == [0] * count, group.tails()
        assert not list(written_below(group.folder))
        return group

    def script(self, path, *arguments):
        """How a program of Python's ended: (exit code, output).

        What it registers for Python's own end is not run.
        """
        arguments = [*map(str, arguments)]
        group = self.start(1, "forking:script", path=str(path), arguments=arguments)
        return group.end(0, 240)[0], group.output(0)

    def close(self):
        """Ends what is left of it."""
        for group in self._groups:
            group.kill()
        self._process.communicate(timeout=60)


class Group:
    """Workers that were started together."""

    def __init__(self, folder, count):
        self.folder, self.count = folder, count
        self.pids = json.loads(_soon(folder / "pids", 120))

    def output(self, rank):
        """What a worker has written so far, to both of its streams."""
        path = self.folder / f"output_{rank}"
        return path.read_text(errors="replace") if path.exists() else ""

    def lines(self, rank, words):
        """The lines of its output that have these words in them."""
        return [line for line in self.output(rank).splitlines() if words in line]

    def tails(self):
        """The ends of all outputs, for the message of a failing test."""
        return "\n".join(f"--- {k}\n{self.output(k)[-3000:]}" for k in range(self.count))

    def until(self, holds, limit_s=100):
        """Waits until this is so, while all workers run."""
        give_up = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > give_up or any(map(self.has_ended, range(self.count))):
                self.kill()
                pytest.fail(f"they have not come so far\n{self.tails()}")
            time.sleep(0.02)

    def signal(self, rank, number):
        """Sends a signal; when that was, on the clock of `end`."""
        os.kill(self.pids[rank], number)
        return time.monotonic()

    def has_ended(self, rank):
        """Whether this worker is gone."""
        return (self.folder / f"ended_{rank}").exists()

    def end(self, rank, limit_s=100):
        """A worker's exit code, negative for a signal, and when it ended."""
        try:
            code, at = json.loads(_soon(self.folder / f"ended_{rank}", limit_s))
        except TimeoutError:
            tails = self.tails()
            self.kill()
            pytest.fail(f"worker {rank} has not ended within {limit_s} s\n{tails}")
        return code, at

    def codes(self, limit_s=100):
        """All exit codes."""
        return [self.end(rank, limit_s)[0] for rank in range(self.count)]

    def result(self, rank=0):
        """What a worker's job returned."""
        return json.loads((self.folder / f"result_{rank}").read_text())

    def results(self):
        """Of all workers."""
        return [self.result(rank) for rank in range(self.count)]

    def kill(self):
        """Ends those that still run."""
        for rank, pid in enumerate(self.pids):
            if not self.has_ended(rank):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def _soon(path, limit_s):
    give_up = time.monotonic() + limit_s
    while not path.exists():
        if time.monotonic() > give_up:
            raise TimeoutError(f"{path} is not there after {limit_s} s")
        time.sleep(0.02)
    return path.read_text()
