"""Runs the tests that judge times on a quiet machine, a busy one and a slow one.

    python tests/under_load.py [--rounds 10] [--within-s SECONDS] [--only EXPRESSION] [--on NAME]
                               [--keep FILE]

The machine is made busy by processes that only count, on one core or all of them, and slow by
giving the tests one core that two such processes use too: they get a third of it. Each round runs
every test once in each condition. At the end a table says how many rounds there were, fewer if the
time was over before, how often which test was wrong the first time, and how often it failed: it is
right if it is so two more times (`two_of_three.py`). The exit code is 1 if any failed. With
`--keep`, what earlier calls kept in the file is counted, too: ten rounds in four conditions take
hours, and need not be run at once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from two_of_three import LINE

COUNT = "while True: pass"
TIMEOUT_S = 1200
"""Of one test."""
OUTCOME = re.compile(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED)\b", re.M)
FAILED = ("FAILED", "ERROR")


@dataclass
class Condition:
    """What the machine is like, and what the tests came to in it.

    Attributes:
        busy: processes that count.
        theirs: the cores these use.
        ours: the cores that the tests use.
        wrong: how often a test was wrong the first time.
        failures: how often it failed in the end.
    """

    name: str
    busy: int
    theirs: set[int]
    ours: set[int]
    took_s: list[float] = field(default_factory=list)
    runs: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, object]:
        """What is kept of it."""
        return {
            "took_s": self.took_s,
            "runs": dict(self.runs),
            "wrong": dict(+self.wrong),
            "failures": dict(+self.failures),
        }

    def add(self, kept: dict[str, Any]) -> None:
        """What an earlier call kept."""
        self.took_s += kept["took_s"]
        self.runs += Counter(kept["runs"])
        self.wrong += Counter(kept["wrong"])
        self.failures += Counter(kept["failures"])


def conditions() -> list[Condition]:
    """On the cores that this process may use."""
    cores = os.sched_getaffinity(0)
    one = {min(cores)}
    return [
        Condition("quiet", 0, cores, cores),
        Condition("one core busy", 1, one, cores),
        Condition("all cores busy", len(cores), cores, cores),
        Condition("a third of one core", 2, one, one),
    ]


@contextmanager
def started(command: list[str], cores: set[int], **how: object) -> Iterator[subprocess.Popen[str]]:
    """A process on these cores; whatever happens, it has ended afterwards, with its children."""
    process = subprocess.Popen(
        command,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        text=True,
        **how,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def busy(condition: Condition) -> Iterator[None]:
    """The processes that count."""
    if condition.busy == 0:
        yield
        return
    less = Condition(condition.name, condition.busy - 1, condition.theirs, condition.ours)
    with started([sys.executable, "-c", COUNT], condition.theirs), busy(less):
        yield


def files() -> list[str]:
    """Those with tests that judge times: to read all the others takes a while."""
    paths = Path(__file__).parent.rglob("test_*.py")
    return sorted(str(p) for p in paths if "pytest.mark.timing" in p.read_text(encoding="utf-8"))


def run(condition: Condition, only: str, limit_s: float) -> str:
    """Runs every test once and counts; returns what pytest said, all of it if a test failed."""
    command = [sys.executable, "-m", "pytest", "-v", "-m", "timing", "-k", only, *files()]
    command += ["-o", f"addopts=--strict-markers --timeout={TIMEOUT_S}"]
    begin = time.monotonic()
    with busy(condition), started(command, condition.ours, stdout=subprocess.PIPE) as tests:
        try:
            said, _ = tests.communicate(timeout=limit_s)
            condition.took_s.append(time.monotonic() - begin)
        except subprocess.TimeoutExpired:
            os.killpg(tests.pid, signal.SIGKILL)
            said, _ = tests.communicate()
            said += "\nended in the middle of a round, for the time is over"
    wrong = set(LINE.findall(said))
    outcomes = OUTCOME.findall(said)
    if tests.returncode > 0 and not any(outcome in FAILED for _, outcome in outcomes):
        outcomes.append(("pytest itself", "ERROR"))
    for name, outcome in outcomes:
        condition.runs[name] += outcome != "SKIPPED"
        condition.wrong[name] += name in wrong or outcome in FAILED
        condition.failures[name] += outcome in FAILED
    failed = any(outcome in FAILED for _, outcome in outcomes)
    return said if failed else said.strip().splitlines()[-1]


def table(all_: list[Condition]) -> str:
    """A line a condition, and one for each test that was wrong in any, if only once."""
    titles = f"{'rounds':>8}{'tests':>8}{'wrong first':>13}{'failed':>8}{'seconds a round':>18}"
    lines = ["", f"{'':24}{titles}"]
    for each in all_:
        mean_s = sum(each.took_s) / len(each.took_s) if each.took_s else float("nan")
        wrong, failed = each.wrong.total(), each.failures.total()
        counts = len(each.took_s), each.runs.total(), wrong, failed
        lines.append("{:24}{:8}{:8}{:13}{:8}{:18.0f}".format(each.name, *counts, mean_s))
    lines += [
        f"{name}: " + ", ".join(of_one(name, each) for each in all_)
        for name in sorted({name for each in all_ for name in +each.wrong})
    ]
    return "\n".join([*lines, "" if any(e.failures.total() for e in all_) else "No test failed."])


def of_one(name: str, condition: Condition) -> str:
    """What a test came to."""
    wrong, failed, runs = (
        counts[name] for counts in (condition.wrong, condition.failures, condition.runs)
    )
    return f"{wrong} wrong first and {failed} failed of {runs} {condition.name}"


def keep(all_: list[Condition], path: Path) -> None:
    """Written as a whole, so that an interrupt leaves what was there."""
    written = path.with_name(f"{path.name}.new")
    found = {each.name: each.to_json() for each in all_}
    written.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    written.replace(path)


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--within-s", type=float, default=float("inf"), help="end by then")
    parser.add_argument("--only", default="", help="tests whose names match, as pytest's -k")
    names = [each.name for each in conditions()]
    parser.add_argument("--on", choices=names, action="append", help="such a machine; or all")
    parser.add_argument("--keep", type=Path, help="add to what this file keeps")
    return parser.parse_args()


def main() -> int:
    """Prints a line a run, and the table."""
    asked = arguments()
    # Ended from outside, it ends what it started.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    end = time.monotonic() + asked.within_s
    all_ = conditions()
    if asked.keep and asked.keep.exists():
        earlier = json.loads(asked.keep.read_text(encoding="utf-8"))
        for each in all_:
            each.add(earlier[each.name])
    chosen = [each for each in all_ if each.name in (asked.on or {each.name})]
    try:
        for number in range(1, asked.rounds + 1):
            for condition in chosen:
                left_s = end - time.monotonic()
                if left_s > 0:
                    said = run(condition, asked.only, min(left_s, 1e6))
                    print(f"{number} {condition.name}: {said}", flush=True)
                    if asked.keep:
                        keep(all_, asked.keep)
    finally:
        print(table(all_), flush=True)
    return int(any(each.failures.total() for each in all_))


if __name__ == "__main__":
    sys.exit(main())
