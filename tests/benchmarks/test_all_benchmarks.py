"""The one command that runs every benchmark, with settings too small to measure anything."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import all as every_benchmark
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

FAST = "hot_path", "gpu_readings"


def run(folder, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "all.py"), "--quick", "--results", str(folder)]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=290, check=False
    )


@pytest.mark.whole
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in FAST else pytest.mark.long)
        for name in every_benchmark.ARGUMENTS
    ],
)
def test_what_a_benchmark_found_is_kept_beside_the_others(name, tmp_path):
    done = run(tmp_path, "--only", name)
    assert done.returncode == 0, done.stdout + done.stderr
    if name.startswith("gpu_") and "No GPU" in done.stdout:
        assert not list(tmp_path.iterdir())
        return
    [file] = tmp_path.iterdir()
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert list(kept["benchmarks"]) == [name]
    tables = kept["benchmarks"][name]["tables"]
    assert tables
    assert all(tables.values())
    every_benchmark.add(file, "other", {"tables": {}})
    every_benchmark.add(file, name, {"tables": {"newer": []}})
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept["benchmarks"] == {name: {"tables": {"newer": []}}, "other": {"tables": {}}}


def test_wrong_use_is_one_line():
    for arguments, told in (
        (["--only", "speed"], "there is no benchmark speed"),
        (["--quick"], "--quick needs --results DIR"),
    ):
        command = [sys.executable, str(BENCHMARKS / "all.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert told in done.stderr


@pytest.mark.parametrize("wrote", [False, True])
def test_a_benchmark_that_fails_leaves_the_others_to_run(tmp_path, monkeypatch, wrote):
    """What it found is kept where it wrote it, as where a figure is wrong."""

    def found(command, check):
        file, split = Path(command[-1]), "split.py" in command[1]
        if wrote or not split:
            file.write_text('{"tables": {}}', encoding="utf-8")
        return subprocess.CompletedProcess(command, int(split))

    monkeypatch.setattr(every_benchmark.subprocess, "run", found)
    arguments = ["all.py", "--quick", "--results", str(tmp_path), "--only", "split,loops"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit, match="split ended with exit code 1"):
        every_benchmark.main()
    [file] = tmp_path.iterdir()
    kept = json.loads(file.read_text(encoding="utf-8"))["benchmarks"]
    assert list(kept) == [*(["split"] if wrote else []), "loops"]
