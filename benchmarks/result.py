"""What a benchmark finds, in one shape: tables of rows whose keys name quantity and unit.

Each benchmark prints its rows as Markdown as they come, and keeps them with `--json FILE`:

    {"benchmark": "split", "command": "python benchmarks/split.py", "at": "2026-11-22T21:04",
     "platform": {"cpu": …, "cores": …, "system": …, "python": …, "tensorflow": …},
     "tables": {"sleeps": [{"where": "input", "slept_ms": 1.06, …}, …], …}}

What was not measured is null.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Cell = str | float | int | bool | None
Row = Mapping[str, Cell]

NOTHING_TO_MEASURE = 77
"""The exit code of a benchmark that this machine has nothing for, as automake's tests have it: with
2 Python itself ends, where it finds no file."""

PACKAGES = "tensorflow", "keras", "jax", "keras-perf"
HERE = Path(__file__).parent


def cell(value: Cell) -> str:
    """As a table shows it: three digits of a measured figure."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "–"
    digits = 0 if not value else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def is_figure(value: Cell) -> bool:
    """A number, which stands to the right."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def header(names: Mapping[str, bool]) -> str:
    """The first two lines of a table.

    Arguments:
        names: of the columns, and whether they hold figures, which stand to the right.
    """
    dashes = ("---:" if figures else "---" for figures in names.values())
    return f"| {' | '.join(names)} |\n|{'|'.join(dashes)}|"


def line(cells: Iterable[Cell]) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(cell, cells))} |"


class Table(list[Row]):
    """Rows with the same keys, printed as they come; a long benchmark shows what it has."""

    def add(self, **row: Any) -> None:
        """A row; numbers may be NumPy's."""
        plain = {key: each.item() if hasattr(each, "item") else each for key, each in row.items()}
        if not self:
            figures = {name: is_figure(each) for name, each in plain.items()}
            print("\n" + header(figures))
        print(line(plain.values()), flush=True)
        self.append(plain)


def cpu() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(each.partition(":")[2].strip() for each in lines if each[:10] == "model name")
    except (OSError, StopIteration):
        return platform.machine()


def installed(package: str) -> str | None:
    """Its version, if it is there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def conditions() -> dict[str, Cell]:
    """The machine, without its name, and what runs on it."""
    return {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: installed(name) for name in PACKAGES},
    }


def script(name: str) -> Path:
    """Where the benchmark of this name lies, here or in a folder."""
    [found] = HERE.rglob(f"{name}.py")
    return found


def parser(description: str | None) -> argparse.ArgumentParser:
    """Of the arguments of a benchmark, which all have `--json FILE`."""
    made = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    made.add_argument("--json", type=Path, metavar="FILE", help="keeps what was found there")
    return made


def begin() -> None:
    """Prints on what it is measured, and when."""
    what = ", ".join(f"{name} {value}" for name, value in conditions().items())
    print(f"{datetime.date.today()}, {what}", flush=True)


def keep(file: Path | None, **tables: Iterable[Row]) -> None:
    """Writes what was found, where it is asked for."""
    if file is None:
        return
    arguments = sys.argv[1:]
    while "--json" in arguments:
        place = arguments.index("--json")
        del arguments[place : place + 2]
    name = Path(sys.argv[0]).stem
    command = ["python", f"benchmarks/{script(name).relative_to(HERE)}", *arguments]
    found = {
        "benchmark": name,
        "command": shlex.join(command),
        "at": f"{datetime.datetime.now():%Y-%m-%dT%H:%M}",
        "platform": conditions(),
        "tables": {name: [_finite(row) for row in rows] for name, rows in tables.items()},
    }
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _finite(row: Row) -> dict[str, Cell]:
    def of(value: Cell) -> Cell:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return {key: of(value) for key, value in row.items()}
