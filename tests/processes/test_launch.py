"""Workers started on this machine, with small scripts in the place of a training."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import psutil
import pytest

from keras_perf.cli.launch import _AFTER_SIGNAL_S
from keras_perf.cli.main import main
from keras_perf.cluster.tf_config import read_cluster

BEGIN = """
import json, os, signal, sys, time
task = json.loads(os.environ["TF_CONFIG"])["task"]
me = task["index"]
"""
LAUNCH = """
import signal, sys
from keras_perf.cli.main import main
# The tests may run under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.exit(main())
"""
LIMIT_S = 60


pytestmark = pytest.mark.xdist_group("launcher")


def launch(folder, script, *arguments, workers=2):
    """`keras-perf launch` with a script."""
    file = folder / "script.py"
    file.write_text(BEGIN + script)
    command = [sys.executable, "-c", LAUNCH, "launch", "--workers", str(workers), str(file)]
    return subprocess.Popen(
        [*command, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_CONFIG": "of another training"},
    )


def end(process):
    process.kill()
    process.communicate()


@pytest.fixture
def started(tmp_path):
    """Starts `keras-perf launch` with a script; ended when the test ends."""
    processes = []

    def start(script, *arguments, workers=2):
        processes.append(launch(tmp_path, script, *arguments, workers=workers))
        return processes[-1]

    yield start
    for process in processes:
        end(process)


STUBBORN = """
if me == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)
time.sleep(1)
sys.exit(3)
"""


@pytest.fixture(scope="module")
def stubborn(tmp_path_factory):
    """A worker that does not end on SIGTERM: while it is waited for, the other tests run."""
    process = launch(tmp_path_factory.mktemp("stubborn"), STUBBORN)
    yield process
    end(process)


@pytest.fixture
def launched(started):
    """Exit code, stdout and stderr of a `keras-perf launch` that ended."""

    def run(script, *arguments, workers=2):
        process = started(script, *arguments, workers=workers)
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err

    return run


def of_worker(text, rank):
    prefix = f"[worker {rank}] "
    return [line.removeprefix(prefix) for line in text.splitlines() if line.startswith(prefix)]


@pytest.mark.usefixtures("stubborn")
def test_every_worker_is_given_the_cluster_and_its_place_in_it(launched):
    code, out, err = launched('print(os.environ["TF_CONFIG"])', workers=3)
    assert (code, err) == (0, "")
    clusters = [read_cluster({"TF_CONFIG": of_worker(out, rank)[0]}) for rank in range(3)]
    assert [cluster.rank for cluster in clusters] == [0, 1, 2]
    assert len({cluster.addresses for cluster in clusters}) == 1
    assert all(address.startswith("127.0.0.1:") for address in clusters[0].addresses)


def test_what_stands_after_the_script_is_the_scripts(launched):
    arguments = ["--workers", "7", "-h", "--", "a b", ""]
    code, out, _ = launched("print(json.dumps(sys.argv[1:]))", *arguments)
    assert code == 0
    assert [json.loads(line) for rank in (0, 1) for line in of_worker(out, rank)] == [arguments] * 2


def test_a_worker_can_listen_on_its_port_although_it_is_held(launched):
    listens = """
import socket
host, port = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"][me].split(":")
socket.create_server((host, int(port))).close()
"""
    assert launched(listens) == (0, "", "")


def test_lines_are_whole_and_in_order_and_go_where_the_worker_wrote_them(launched):
    chatters = """
for i in range(2000):
    for part in (f"{i} ", "x" * 100, "\\n"):
        sys.stdout.write(part)
        if i % 100 == 0:
            sys.stdout.flush()
    sys.stderr.write(f"{i} to stderr\\n")
sys.stdout.write("no end of line")
"""
    code, out, err = launched(chatters)
    expected = [f"{i} {'x' * 100}" for i in range(2000)] + ["no end of line"]
    assert code == 0
    for rank in (0, 1):
        assert of_worker(out, rank) == expected
        assert of_worker(err, rank) == [f"{i} to stderr" for i in range(2000)]
    assert len(out.splitlines()) == 2 * len(expected)


def test_output_is_passed_on_while_a_worker_runs(started):
    process = started("print('begun'); time.sleep(60)")
    assert process.stdout.readline().endswith("begun\n")
    process.send_signal(signal.SIGTERM)
    assert process.wait(LIMIT_S) == 128 + signal.SIGTERM


def test_a_reader_who_leaves_ends_the_workers(started):
    process = started("print(os.getpid())\nwhile True: time.sleep(0.05); print('more')")
    worker = psutil.Process(int(process.stdout.readline().split()[-1]))
    process.stdout.close()
    assert process.wait(LIMIT_S) == 141
    assert psutil.wait_procs([worker], timeout=LIMIT_S)[1] == []


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("sys.exit(3 if me else 0)", 3),
        ("if me: sys.exit(3)\ntime.sleep(60)", 3),
        ("if me == 0: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(60)", 137),
        ("sys.exit(42)", 42),
        ("sys.exit(42 if me else 0)", 42),
        ("sys.exit(42 if me else 5)", 5),
        # The first lost its peer, which takes a while to fail.
        ("if me == 0: sys.exit(43)\ntime.sleep(1); sys.exit(7)", 7),
        ("sys.exit(43)", 43),
    ],
)
def test_the_exit_code_is_that_of_who_failed_first(launched, script, code):
    assert launched(script)[0] == code


@pytest.mark.parametrize(
    ("number", "arrives", "times"),
    [
        (signal.SIGTERM, signal.SIGTERM, 2),
        (signal.SIGINT, signal.SIGINT, 1),
        (signal.SIGHUP, signal.SIGTERM, 1),
    ],
)
def test_a_signal_is_passed_on_once(started, number, arrives, times):
    handles = f"""
received = []
signal.signal({int(arrives)}, lambda *_: received.append(1))
print("ready")
while not received:
    time.sleep(0.05)
time.sleep(1)
print(len(received))
sys.exit(42)
"""
    process = started(handles)
    ready = [process.stdout.readline() for _ in range(2)]
    assert sorted(ready) == ["[worker 0] ready\n", "[worker 1] ready\n"]
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.3)
    out, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 42
    assert sorted(out.splitlines()) == ["[worker 0] 1", "[worker 1] 1"]


def test_a_second_ctrl_c_does_not_wait(started):
    process = started("""
signal.signal(signal.SIGINT, lambda *_: print("received"))
print("ready")
time.sleep(600)
""")
    sent_s = []
    for told in ("ready\n", "received\n"):
        assert all(process.stdout.readline().endswith(told) for _ in range(2))
        sent_s.append(time.monotonic())
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGKILL
    # After the first alone it would have waited so long.
    assert time.monotonic() - sent_s[0] < _AFTER_SIGNAL_S


def test_what_workers_started_ends_with_them(launched):
    starts = """
import subprocess
print(subprocess.Popen(["sleep", "600"]).pid)
sys.exit(3 if me == 0 else 0)
"""
    code, out, _ = launched(starts)
    assert code == 3
    pids = [int(of_worker(out, rank)[0]) for rank in (0, 1) if of_worker(out, rank)]
    assert pids
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert psutil.wait_procs(left, timeout=LIMIT_S)[1] == []


def test_workers_do_not_outlive_a_launcher_that_is_killed(started):
    process = started("print(os.getpid()); time.sleep(600)")
    workers = [psutil.Process(int(process.stdout.readline().split()[-1])) for _ in range(2)]
    process.kill()
    assert psutil.wait_procs(workers, timeout=LIMIT_S)[1] == []


def test_a_process_that_a_worker_leaves_behind_is_not_waited_for(launched):
    leaves = """
import subprocess
print(subprocess.Popen(["sleep", "600"], start_new_session=True).pid)
"""
    code, out, _ = launched(leaves)
    left = [int(of_worker(out, rank)[0]) for rank in (0, 1)]
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--workers", "1", __file__], "--workers must be at least 2, got 1"),
        (["--workers", "0", __file__], "--workers must be at least 2, got 0"),
        (["--workers", "2", "none.py"], "SCRIPT must be an existing file, got 'none.py'"),
        (["--workers", "2", "."], r"SCRIPT must be an existing file, got '\.'"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments, named, capsys):
    assert main(["launch", *arguments]) == 2
    error = capsys.readouterr().err
    assert re.fullmatch(rf"keras-perf launch: {named}.*\n", error)


@pytest.mark.parametrize(
    "arguments", [[], ["x.py"], ["--workers", "x", "x.py"], ["--workers", "2"]]
)
def test_arguments_that_are_missing_are_named(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["launch", *arguments])
    assert exit_.value.code == 2
    assert re.search("--workers|SCRIPT", capsys.readouterr().err)


def test_the_help_says_who_can_reach_the_workers(capsys):
    with pytest.raises(SystemExit):
        main(["launch", "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "listens on ALL interfaces of this machine and asks for no password" in words


def test_who_does_not_end_on_sigterm_is_killed(stubborn):
    assert stubborn.wait(LIMIT_S) == 3
