"""A program that is run by us does what it does by itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import atexit, os, pickle, signal, sys, threading, time
import __main__
class Thing: pass
assert type(pickle.loads(pickle.dumps(Thing()))) is Thing
print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__, sorted(vars(__main__)))
print([name for name in ("numpy", "pandas", "tensorflow", "keras") if name in sys.modules])
atexit.register(print, "registered first")
atexit.register(print, "registered last")
def fails():
    try:
        {}["key"]
    except KeyError as error:
        raise RuntimeError("failed") from error
does = sys.argv[1]
if does == "reads": print(sys.stdin.read())
if does == "text": sys.exit("why it ends")
if does == "code": sys.exit(3)
if does == "os_exit": print("left", flush=True), os._exit(7)
if does == "interrupted": os.kill(os.getpid(), signal.SIGINT), time.sleep(9)
if does == "terminated": sys.stdout.flush(), os.kill(os.getpid(), signal.SIGTERM), time.sleep(9)
if does == "daemon": threading.Thread(target=time.sleep, args=(99,), daemon=True).start()
if does == "thread": threading.Timer(0.1, print, ("the thread is done",)).start()
if does == "fails": fails()
if does == "hook": sys.excepthook = lambda kind, *_: print("its own hook", kind); fails()
if does == "child" and not os.fork(): sys.exit(5)
if does == "child": print(os.wait()[1])
"""

SPAWNS = """
import multiprocessing, sys
def work(number): return 2 * number, __name__, "keras_perf" in sys.modules
if __name__ == "__main__":
    for how in ("spawn", "fork"):
        with multiprocessing.get_context(how).Pool(1) as pool:
            print(pool.map(work, [1, 2])[1][0])
"""

OURS = "keras-perf run: the program did not import Keras, so there was no fit to observe.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    (folder / "package" / "inner").mkdir(parents=True)
    for name in ("program.py", "package/inner/program.py", "package/__main__.py"):
        (folder / name).write_text(PROGRAM)
    (folder / "package" / "__init__.py").touch()
    (folder / "spawns.py").write_text(SPAWNS)
    (folder / "wrong.py").write_text("x = (\n")
    (folder / "elsewhere").mkdir()
    return folder


def run(folder, *arguments):
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        input="what is read",
        cwd=folder,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path},
    )


def plain(text):
    """Without addresses, and frames of Python's own that start a module."""
    return re.sub(r'0x\w+|  File "<frozen runpy>".*\n', "", text)


@pytest.mark.parametrize(
    "line",
    [
        *(f"program.py {does}" for does in ("reads", "text", "code", "daemon", "thread", "child")),
        *(f"program.py {does}" for does in ("interrupted", "fails", "hook")),
        "program.py -- --quiet -m --html x --log-dir",
        "elsewhere/../program.py fails",
        "package code",
        "-m package.inner.program fails",
        "-m package -- x",
        "wrong.py",
        "spawns.py",
    ],
)
def test_it_prints_and_returns_what_it_does_without_us(folder, line):
    alone = run(folder, *line.split())
    ours = run(folder, "-m", "keras_perf", "run", *line.split())
    assert ours.stdout == alone.stdout or plain(ours.stdout) == plain(alone.stdout)
    assert plain(ours.stderr) == plain(alone.stderr) + OURS
    assert ours.returncode == alone.returncode


@pytest.mark.parametrize(("does", "code"), [("os_exit", 7), ("terminated", -signal.SIGTERM)])
def test_what_ends_at_once_ends_at_once(folder, does, code):
    alone = run(folder, "program.py", does)
    ours = run(folder, "-m", "keras_perf", "run", "program.py", does)
    assert (ours.stdout, ours.stderr, ours.returncode) == (alone.stdout, "", code)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "a SCRIPT or -m MODULE must be given"),
        ("nothing.py", "SCRIPT must be an existing file, got 'nothing.py'."),
        ("elsewhere", "holds none"),
        ("-m", "-m needs a MODULE"),
        ("-m package.nothing", "got 'package.nothing'"),
        ("-m .program", "got '.program'"),
        ("--profile-steps 5:3 program.py", "A must be below B"),
        ("--profile-steps 5 program.py", "must be A:B"),
        ("--html nowhere/x.html program.py", "FILE of --html must be writable"),
        ("--log-dir program.py program.py", "log_dir must be writable, got 'program.py'"),
        ("--log program.py", "unrecognized arguments: --log"),
    ],
)
def test_wrong_use_is_told_in_a_line_before_anything_runs(folder, line, said):
    found = run(folder, "-m", "keras_perf", "run", *line.split())
    assert found.returncode == 2
    assert said in found.stderr.splitlines()[-1]
    assert found.stdout == ""


def test_quiet_says_nothing(folder):
    assert run(folder, "-m", "keras_perf", "run", "--quiet", "program.py", "x").stderr == ""
