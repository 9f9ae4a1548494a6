"""The command and the package in a shell: encodings, pipes, a full disk, warnings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from own_python import BLOCKED, run

COMMAND = "import sys; from keras_perf.cli.main import main; sys.exit(main())"
WRITE = """
from pathlib import Path
from hand_built import stage, write_fit
for name, step_ms in {"a": 4.0, "b×": 2.0}.items():
    folder = Path(sys.argv[1], name)
    write_fit(folder, step_ms=step_ms, context={"stages": [stage("Map", 1.0)]})
"""


@pytest.fixture(scope="module")
def log_dirs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    run(BLOCKED + WRITE, str(folder))
    return [str(folder / name) for name in ("a", "b×")]


def shell(line, *arguments, **environ):
    """Exit codes of a pipe's commands, and what was said on stderr; $K is keras-perf."""
    keras_perf_ = f"{sys.executable} -W error -c '{COMMAND}'"
    script = f'{line.replace("$K", keras_perf_)}; echo "${{PIPESTATUS[@]}}"'
    path = os.pathsep.join(sys.path)
    env = {**os.environ, "PYTHONPATH": path, **environ}
    found = subprocess.run(
        ["bash", "-c", script, "bash", *arguments], capture_output=True, env=env, timeout=120
    )
    *out, codes = found.stdout.splitlines()
    return [int(code) for code in codes.split()], out, found.stderr


@pytest.mark.parametrize("line", ["$K report $1 $2", "$K report $1 --markdown", "$K compare $1 $2"])
def test_an_encoding_without_our_characters_shows_plain_ones(log_dirs, line):
    [code], out, err = shell(line, *log_dirs, PYTHONIOENCODING="ascii")
    assert (code, err) == (0, b"")
    text = b"\n".join(out)
    assert b"x" in text
    assert text.isascii()


@pytest.mark.fault(2, "a closed pipe")
@pytest.mark.parametrize("line", ["$K report $1 | true", "$K --help | true"])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_closed_pipe_ends_the_command_quietly(log_dirs, line, buffered):
    # The reader has gone before the first character comes.
    slow = line.replace("$K", "(sleep 0.2; exec $K").replace(" |", ") |")
    codes, _, err = shell(slow, *log_dirs, PYTHONUNBUFFERED=buffered)
    assert err == b""
    # argparse passes over it where it meets it first.
    assert codes in ([141, 0], [0, 0] if "help" in line else None)


def test_a_closed_pipe_of_errors_is_quiet_too(tmp_path):
    codes, _, err = shell('(sleep 0.2; exec $K report "$1") 2>&1 | true', str(tmp_path))
    assert (codes, err) == ([141, 0], b"")


@pytest.mark.fault(2, "a full disk under the command's output")
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line(log_dirs):
    [code], _, err = shell("$K report $1 > /dev/full", *log_dirs)
    assert (code, err.count(b"\n")) == (1, 1)
    assert b"No space left on device" in err


@pytest.mark.fault(2, "damage that a warning names")
def test_what_is_left_out_is_told_without_a_line_of_code(log_dirs, tmp_path):
    [file] = Path(log_dirs[0]).rglob("events.*")
    damaged = tmp_path / "perf" / file.name
    damaged.parent.mkdir()
    damaged.write_bytes(file.read_bytes()[:-1])
    script = f"import keras_perf; keras_perf.load_scalars({str(tmp_path)!r})"
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stderr
    assert told.startswith(f"<keras_perf>:0: LeftOutWarning: {damaged} ends in the middle")
    assert told.count("\n") == 1
