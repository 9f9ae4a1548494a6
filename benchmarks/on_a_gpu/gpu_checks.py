"""Checks of figures of a GPU: printed and kept line by line, and at the end as a table."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).parents[1]))

import result
from all import HERE, add

from keras_perf.observers.nvml.reader import NvmlReader
from keras_perf.observers.sensors.sensor import SensorError

RESULTS = HERE / "results"

Checked = Iterator[tuple[str, bool | None]]
"""A line, and whether it holds; None where there is nothing to compare with."""

Checks = Iterator[tuple[str, Callable[[], Checked]]]
"""By name."""

Say = Callable[[str], None]

MARKS = {True: "ok   ", False: "WRONG", None: "skip "}


def first_gpu() -> tuple[str, str]:
    """Its model and its UUID.

    Raises:
        SensorError: there is none.
    """
    reader = NvmlReader(print)
    model, _, uuid = reader.describe()["gpu/0"].rpartition(" ")
    reader.close()
    return model, uuid


def driver() -> str:
    """Its version, by nvidia-smi."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.check_output(query, text=True).split("\n")[0]
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def check(checks: Checks, say: Say) -> bool:
    """A line for each comparison; whether all hold. One that cannot be made does not hold."""
    good = True
    for name, comparison in checks:
        try:
            for line, holds in comparison():
                good &= holds is None or bool(holds)
                say(f"{MARKS[holds]} {line}")
        except Exception as error:  # noqa: BLE001  the others are to go on
            good = False
            say(f"FAILED {name}: {error!r}")
    return good


def keeper(file: TextIO) -> Say:
    """Prints a line and keeps it at once."""

    def say(line: str) -> None:
        print(line, flush=True)
        file.write(line + "\n")
        file.flush()

    return say


def compare(
    name: str,
    model: str,
    how: str,
    work: Callable[[Say], bool],
    kept: Path | None,
    table: str = "checks",
) -> int:
    """Does the work, whose lines go to benchmarks/results/ as they come, and as a table, too.

    What is cut off leaves the lines and the table of what it had come to.

    Arguments:
        name: of the benchmark.
        model: of the GPU.
        how: it is done: by what, for how long.
        work: says its lines; whether all holds.
        kept: the file of the table; None: <gpu>-<date>.json beside those of others.
        table: its name; others of the same benchmark stay there.

    Returns:
        The exit code: 1 if a figure is wrong.
    """
    now = datetime.datetime.now()
    RESULTS.mkdir(exist_ok=True)
    lines = RESULTS / f"{name}_{table}_{now:%Y-%m-%d_%H%M%S}.txt"
    on = {"table": table, "date": f"{now:%Y-%m-%d}", "name": model, "driver": driver(), "how": how}
    rows: list[result.Row] = []

    def keep() -> Path:
        tables = {"gpu": [on], table: rows}
        if kept is None:
            return _keep_beside_others(name, model, on["date"], tables)
        result.keep(kept, **tables)
        return kept

    with lines.open("w") as file:
        tell = keeper(file)
        tell(
            f"{now:%Y-%m-%d}, {model}, driver {on['driver']}, {platform.platform()}, "
            f"{os.cpu_count()} CPUs, python {platform.python_version()}, {how}"
        )

        def say(line: str) -> None:
            tell(line)
            if not line.startswith(" "):
                rows.append({"check": line[6:].strip(), "result": line[:6].strip()})
                keep()

        good = work(say)
    print(f"\n{keep()}")
    return 0 if good else 1


def no_gpu(error: SensorError) -> int:
    """Says so; the exit code."""
    print(f"No GPU to compare with: {error}.")
    return result.NOTHING_TO_MEASURE


def _keep_beside_others(
    name: str, model: str, date: str, tables: dict[str, list[result.Row]]
) -> Path:
    """In the file of this GPU and day, in the shape of all results."""
    gpu = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        result.keep(file, **tables)
        found = json.loads(file.read_text(encoding="utf-8"))
    kept = RESULTS / f"{gpu}-{date}.json"
    if kept.exists():
        before = json.loads(kept.read_text(encoding="utf-8"))["benchmarks"].get(name, {})
        others = before.get("tables", {"gpu": []})
        found["tables"]["gpu"] += [row for row in others["gpu"] if row["table"] not in tables]
        found["tables"] = others | found["tables"]
    add(kept, name, found)
    return kept
