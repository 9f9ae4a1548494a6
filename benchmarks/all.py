"""Runs every benchmark, and keeps what all of them found in one file.

    make benchmarks        or        python benchmarks/all.py [--only NAME,...] [--quick]

What: each benchmark in a process of its own, one after the other; together they take an hour or
two on two cores, in which nothing else should run. `benchmarks/results/<machine>-<date>.json`
holds the machine (processor and cores, no name of a host) and, by benchmark, its command, time,
versions and tables. It is written after each one, and what it holds of the others stays: a run
that was ended goes on with --only. At the end the figures of README.md and docs/ are written anew
(`benchmarks/figures.py`).

--quick runs all with settings too small for the figures to mean anything, to see that they run;
no page is changed then.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import figures
import result

HERE = Path(__file__).parent
SCHEMA = 1
ARGUMENTS = {
    "hot_path": "--repeats 10",
    "overhead": "--repeats 30 --steps 900",
    "overhead_on_jax": "--repeats 40",
    "reading_the_model_on_jax": "--turns 6",
    "split": "",
    "gpu_sampler": "",
    "gpu_readings": "",
    "gpu_training": "",
    "scalars": "",
    "tab": "",
    "trace": "",
    "steps_per_execution": "",
    "loops": "",
    "scaling": "",
    "iterator_ends": "",
    "shuffle_refill": "",
    "pauses": "",
    "making_batches": "--backend jax",
    "tuning": "",
    "tried": "",
    "follow_up": "",
}
"""The shorter ones first."""

QUICK = {
    "hot_path": "--repeats 1 --steps 300",
    "overhead": "--repeats 1 --steps 600",
    "overhead_on_jax": "--repeats 1 --steps 60",
    "reading_the_model_on_jax": "--turns 1",
    "split": "--sleeps 0,2",
    "gpu_sampler": "--repeats 1 --steps 50",
    "gpu_readings": "--seconds 0.5",
    "gpu_training": "--width 256 --rows 64",
    "scalars": "--events 300 --repeats 1",
    "tab": "--scalars 2000 --runs 3 --repeats 1",
    "trace": "--repeats 1 --steps 20 --read-steps 100",
    "steps_per_execution": "--seconds 1 --models tiny-mlp",
    "loops": "--seconds 0.1 --rounds 1 --models tiny-mlp --calls 1",
    "scaling": "--workers 1,2 --steps 60 --widths 64",
    "iterator_ends": "--rounds 1 --epochs 2",
    "shuffle_refill": "--rounds 1",
    "pauses": "--rounds 1 --steps 5 --widths 64",
    "making_batches": "--rounds 1 --steps 5",
    "tuning": "--budget-s 2 --only 'small images'",
    "tried": "--budget-s 3 --only 'a tiny model'",
    "follow_up": "--only 'a tiny model'",
}


def machine() -> str:
    """Processor and cores, as the name of a file has them."""
    told = result.conditions()
    name = re.sub(r"\((R|TM)\)|\bCPU\b|@.*", "", str(told["cpu"]))
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}-{told['cores']}-cores"


def run(name: str, arguments: str) -> tuple[dict[str, Any] | None, int]:
    """What a benchmark found, and its exit code: it keeps what it found where a figure is wrong.

    Nothing is found, and all is well, where there is nothing to measure here.

    Raises:
        RuntimeError: it ended without having found anything.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        script = str(result.script(name))
        command = [sys.executable, script, *shlex.split(arguments), "--json", str(file)]
        code = subprocess.run(command, check=False).returncode
        if code == result.NOTHING_TO_MEASURE:
            return None, 0
        if not file.exists():
            raise RuntimeError(f"{name} ended with exit code {code}")
        return json.loads(file.read_text(encoding="utf-8")), code


def add(file: Path, name: str, found: dict[str, Any]) -> None:
    """Keeps it beside what the file has."""
    kept: dict[str, Any] = {"schema": SCHEMA, "machine": {}, "benchmarks": {}}
    if file.exists():
        kept = json.loads(file.read_text(encoding="utf-8"))
    kept["machine"] = {key: result.conditions()[key] for key in ("cpu", "cores")}
    kept["benchmarks"][name] = found
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_name(f"{file.name}.new")
    written.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    written.replace(file)


def main() -> None:
    """Runs them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="NAME,...", help=", ".join(ARGUMENTS))
    parser.add_argument("--quick", action="store_true", help="only to see that they run")
    parser.add_argument("--results", type=Path, default=HERE / "results", metavar="DIR")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(ARGUMENTS)
    if unknown := set(names) - set(ARGUMENTS):
        parser.error(f"--only: there is no benchmark {', '.join(sorted(unknown))}")
    if arguments.quick and arguments.results == HERE / "results":
        parser.error("--quick needs --results DIR: its figures mean nothing")
    file = arguments.results / f"{machine()}-{datetime.date.today()}.json"
    failed = []
    for name in names:
        print(f"\n== {name}", flush=True)
        try:
            found, code = run(name, (QUICK if arguments.quick else ARGUMENTS)[name])
            if found:
                add(file, name, found)
            if code:
                failed.append(f"{name} ended with exit code {code}")
        except RuntimeError as error:  # hours of the others' work are not lost
            failed.append(str(error))
    print(f"\n{file}")
    if not arguments.quick:
        figures.write()
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
