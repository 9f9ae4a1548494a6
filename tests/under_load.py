"""Runs the tests that judge times on a quiet machine, a busy one and a slow one.

    python tests/under_load.py [--rounds 10]

The machine is made busy by processes that only count, on one core or all of them, and slow by
giving the tests one core that two such processes use too: they get a third of it. Each round runs
every test once in each condition; the exit code is 1 if any failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

COUNT = "while True: pass"


@contextmanager
def busy(processes: int, cores: set[int]) -> Iterator[None]:
    """So many processes that use these cores."""
    started = [subprocess.Popen([sys.executable, "-c", COUNT]) for _ in range(processes)]
    try:
        for each in started:
            os.sched_setaffinity(each.pid, cores)
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def main() -> int:
    """Prints a line a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    cores = os.sched_getaffinity(0)
    one = {min(cores)}
    conditions = [
        ("quiet", 0, cores, cores),
        ("one core busy", 1, one, cores),
        ("all cores busy", len(cores), cores, cores),
        ("a third of one core", 2, one, one),
    ]
    failed = 0
    for number in range(1, rounds + 1):
        for name, processes, theirs, ours in conditions:
            begin = time.monotonic()
            with busy(processes, theirs):
                command = [sys.executable, "-m", "pytest", "-q", "-m", "timing", "-p", "no:xdist"]
                tests = subprocess.Popen(
                    [*command, "-o", "addopts=--strict-markers --timeout=1200"],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                os.sched_setaffinity(tests.pid, ours)
                output, _ = tests.communicate()
            failed += tests.returncode != 0
            last = output.strip().splitlines()[-1]
            print(f"{number} {name}: {last} ({time.monotonic() - begin:.0f} s)", flush=True)
            if tests.returncode:
                print(output, flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
