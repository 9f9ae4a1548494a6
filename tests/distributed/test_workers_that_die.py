"""Workers wait for each other, and end when one of them dies; without TensorFlow."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import namespace
import pytest

SEVERAL = Path(__file__).with_name("several.py")

WORKER = """
import os, signal, sys, threading, time
from keras_perf.cluster.peers import PeerError, wait_for_peers
from keras_perf.cluster.tf_config import read_cluster
cluster = read_cluster(os.environ)
me = os.getpid()
"""
MEETS = """
try:
    watch = wait_for_peers(cluster, deadline_s={deadline_s})
except PeerError as error:
    sys.exit(f"PeerError {{error}}")
print("all there", flush=True)
{then}
"""


def tf_config(rank, ports=(2222, 2223)):
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    task = {"type": "worker", "index": rank}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}


def worker(rank, then="watch.close()", *, deadline_s=60, ports=(2222, 2223), **more):
    code = WORKER + MEETS.format(deadline_s=deadline_s, then=then)
    return {"code": code, "environ": tf_config(rank, ports), **more}


def run(*programs, limit_s=100):
    """How each of them ended."""
    command = [sys.executable, str(SEVERAL), json.dumps(programs)]
    found = namespace.run(command, limit_s=limit_s)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def lines(ended):
    return [line for line in ended["err"].splitlines() if line.startswith("keras_perf: ")]


SLEEP = "time.sleep(60)"
THREE = (2222, 2223, 2224)

WAITING = []
"""Tests that mostly wait: what they look at is started together, each in a network of its own."""


def that_waits(*programs):
    """The test is given how these programs ended, as `ended`; `ends` starts them."""

    def add(test):
        WAITING.append(programs)
        marked = pytest.mark.parametrize("ended", [len(WAITING) - 1], indirect=True, ids=[""])(test)
        return pytest.mark.xdist_group("peers that wait")(marked)

    return add


@pytest.fixture
def ended(ends, request):
    return ends[request.param].result()


@that_waits(*(worker(rank, ports=THREE, start_after_s=rank) for rank in range(3)))
def test_workers_that_come_at_different_times_meet_and_part_quietly(ended):
    assert [(each["code"], each["out"], each["err"]) for each in ended] == [
        (0, "all there\n", "")
    ] * 3


def test_nothing_is_left_after_close():
    then = """
watch.close()
watch.close()
print(threading.active_count(), len(os.listdir("/proc/self/fd")) - files)
"""
    counted = worker(0, then)
    counts = '\nfiles = len(os.listdir("/proc/self/fd"))\ntry:'
    counted["code"] = counted["code"].replace("\ntry:", counts)
    first, _ = run(counted, worker(1))
    assert first["out"] == "all there\n1 0\n"


def test_the_port_is_free_again_once_all_are_there():
    then = """
import socket
with socket.create_server(("", int(cluster.address.split(":")[1]))) as server:
    print("listens")
time.sleep(1)
watch.close()
"""
    ended = run(worker(0, then), worker(1, then))
    assert [each["out"] for each in ended] == ["all there\nlistens\n"] * 2


@pytest.mark.parametrize(
    "dies",
    [
        "os.kill(me, signal.SIGKILL)",
        "with watch: sys.exit(3)",
        pytest.param("with watch: 1 / 0", marks=pytest.mark.long),
        pytest.param("1 / 0", marks=pytest.mark.long),
    ],
)
def test_a_worker_that_dies_ends_the_others_which_name_it(dies):
    dead, *others = run(
        worker(0, dies, ports=THREE),
        worker(1, SLEEP, ports=THREE),
        worker(2, SLEEP, ports=THREE),
    )
    assert dead["code"] not in (0, 43)
    assert not lines(dead)
    for other in others:
        assert other["code"] == 43, other["err"]
        [said] = lines(other)
        assert re.match(r"keras_perf: worker 0 \(127.0.0.1:2222\) is gone: ", said)
        assert said.endswith("this worker ends with code 43")
    assert any("ended without a goodbye" in other["err"] for other in others)


def ends_well(how, *ports):
    """Two workers, of whom one ends three seconds before the other."""
    first, second = f"with watch: {how}", "time.sleep(3); watch.close()"
    return worker(0, first, ports=ports), worker(1, second, ports=ports)


@that_waits(*ends_well("sys.exit(42)", 2222, 2223), *ends_well("sys.exit()", 3222, 3223))
def test_a_worker_that_has_saved_or_finished_is_no_loss(ended):
    assert [each["code"] for each in ended] == [42, 0, 0, 0]
    assert ended[1]["err"] == ended[3]["err"] == ""


STOPS = "os.kill(me, signal.SIGSTOP); "


@that_waits(worker(0, STOPS + SLEEP, continue_after_s=40), worker(1, SLEEP))
def test_a_stopped_worker_ends_the_others_and_does_not_go_on_when_it_is_continued(ended):
    stopped, other = ended
    assert other["code"] == 43
    assert re.search(r"worker 0 \(127.0.0.1:2222\) is gone: silent for 10 s", *lines(other))
    assert stopped["code"] == -9
    assert re.search(r"worker 1 .* heard nothing from this worker", *lines(stopped))


@that_waits(
    worker(0, STOPS + "time.sleep(3); watch.close()", continue_after_s=2),
    worker(1, "time.sleep(7); watch.close()"),
)
def test_a_worker_that_is_stopped_for_a_moment_is_not_lost(ended):
    assert [(each["code"], each["err"]) for each in ended] == [(0, "")] * 2


# PyDLL keeps the interpreter's lock, as TensorFlow does while its strategy waits.
HOLDS = "import ctypes; ctypes.PyDLL(None).sleep({}); watch.close()"


@that_waits(worker(0, HOLDS.format(14)), worker(1, HOLDS.format(14)))
def test_a_worker_that_holds_the_interpreter_is_not_lost(ended):
    assert [(each["code"], each["err"]) for each in ended] == [(0, "")] * 2


@that_waits(worker(0, "time.sleep(1); os.kill(me, 9)"), worker(1, HOLDS.format(60)))
def test_a_worker_that_holds_the_interpreter_still_ends_when_it_must(ended):
    dead, held = ended
    assert (dead["code"], held["code"]) == (-9, -9)
    assert re.search(r"worker 0 \(127.0.0.1:2222\) is gone", *lines(held))


RAISES = """
class UnavailableError(Exception):
    pass
sys.stdout.flush = lambda: time.sleep(60)
with watch:
    time.sleep(1)
    raise UnavailableError
"""


@that_waits(worker(0, "time.sleep(2); os.kill(me, 9)"), worker(1, RAISES))
def test_an_error_that_a_loss_brings_about_ends_in_the_loss_also_where_output_hangs(ended):
    _, other = ended
    assert other["code"] == 43
    assert "Traceback" not in other["err"]


def test_the_end_of_the_watching_process_ends_the_worker():
    kills = """
import psutil
[child] = psutil.Process().children()
child.kill()
time.sleep(60)
"""
    first, second = run(worker(0, kills), worker(1, SLEEP))
    assert (first["code"], second["code"]) == (43, 43)
    assert "the process that watches the peers has ended" in first["err"]


@that_waits(worker(0, ports=THREE, deadline_s=4), worker(1, ports=THREE, deadline_s=60))
def test_after_the_deadline_every_worker_that_waits_names_the_missing_one(ended):
    for each in ended:
        assert each["code"] == 1
        assert re.fullmatch(r"PeerError .*worker 2 \(127.0.0.1:2224\).*\n", each["err"])


def test_a_name_that_cannot_be_is_said():
    config = {
        "cluster": {"worker": ["127.0.0.1:2222", "no..name:2222"]},
        "task": {"type": "worker", "index": 0},
    }
    alone = worker(0, deadline_s=2) | {"environ": {"TF_CONFIG": json.dumps(config)}}
    [ended] = run(alone)
    assert ended["code"] == 1
    said = r"PeerError .*worker 1 \(no\.\.name:2222\): .*label.*\n"
    assert re.fullmatch(said, ended["err"])


@that_waits(worker(0), worker(1, start_after_s=14))
def test_while_waiting_the_missing_worker_is_named(ended):
    [line] = lines(ended[0])
    assert re.match(
        r"keras_perf: waiting for worker 1 \(127.0.0.1:2223\): Connection refused; 10 s of 60 s",
        line,
    )


FALLS = worker(1, ports=THREE)
FALLS["code"] = FALLS["code"].replace(
    "\ntry:", "\nthreading.Timer(2, os.kill, (me, signal.SIGKILL)).start()\ntry:"
)


@that_waits(
    worker(0, ports=THREE),
    FALLS,
    worker(1, ports=THREE, start_after_s=5),
    worker(2, ports=THREE, start_after_s=8),
)
def test_a_worker_that_fell_over_while_waiting_may_be_started_again(ended):
    first, fallen, again, third = ended
    assert fallen["code"] == -9
    assert [each["code"] for each in (first, again, third)] == [0, 0, 0]


def test_workers_of_two_clusters_both_say_so():
    ended = run(worker(0), worker(1, ports=(2222, 2223, 2224)))
    for each in ended:
        assert each["code"] == 1
        assert re.fullmatch(r"PeerError every worker .* same 'cluster'.*\n", each["err"])


@that_waits(worker(0), worker(0, start_after_s=1))
def test_two_processes_with_one_index_are_both_told(ended):
    for each in ended:
        assert each["code"] == 1
        assert re.fullmatch(r"PeerError .*two that say they are worker 0 \(.*\n", each["err"])


CALL = """
import socket, time
def call(port):
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit(f"nobody listens on {port}")
"""
SPEAKS = """
import os, socket, sys
from keras_perf.cluster.handshake import *
from keras_perf.cluster.tf_config import read_cluster
cluster = read_cluster(os.environ)
"""


def test_a_worker_that_is_found_at_the_address_of_another_one_is_named():
    answers = """
with socket.create_server(("127.0.0.1", 2223)) as server:
    called, _ = server.accept()
    called.recv(HELLO_BYTES)
    called.sendall(pack_answer(Verdict.OTHER_WORKER, 0))
    called.recv(1)
"""
    ended, _ = run(worker(0), {"code": SPEAKS + answers, "environ": tf_config(1)})
    assert ended["code"] == 1
    assert re.fullmatch(r"PeerError .*got worker 0 at the address of worker 1 .*\n", ended["err"])


CALLS = """
with call(2222) as called:
    called.sendall(Hello(0, 1, digest(cluster), b"p" * 16).pack())
    print(unpack_answer(called.recv(ANSWER_BYTES)))
"""


@that_waits(worker(0), {"code": CALL + SPEAKS + CALLS, "environ": tf_config(0)})
def test_a_worker_that_is_called_as_another_one_says_so(ended):
    first, answered = ended
    assert answered["out"] == "(<Verdict.OTHER_WORKER: 2>, 0)\n"
    assert first["code"] == 1
    assert re.fullmatch(
        r"PeerError .*got worker 0 in this process, which is at the address of worker 1 .*\n",
        first["err"],
    )


TAKEN = "import socket, time; s = socket.create_server(('', 2222)); time.sleep(9)"


@that_waits({"code": TAKEN}, worker(0, start_after_s=2))
def test_a_port_in_use_is_said(ended):
    assert ended[1]["code"] == 1
    said = r"PeerError this worker's port .*127.0.0.1:2222, on which another.*\n"
    assert re.fullmatch(said, ended[1]["err"])


# Worker 1 comes once all is sent; the last connection is held until both workers have met.
GARBAGE = """
held = [call(2222) for _ in range(100)]
for each, sent in zip(held, [b"PRI * HTTP/2.0", b"keras_perf peers", b"k", b"", b"x" * 100_000]):
    try:
        each.sendall(sent)
    except OSError:
        pass
with socket.create_server(("127.0.0.1", 3222)):
    held[-1].recv(1)
"""
LATER = worker(1)
LATER["code"] = f"{CALL}call(3222).close(){LATER['code']}"


@that_waits(worker(0), {"code": CALL + GARBAGE}, LATER)
def test_garbage_on_the_port_is_ignored(ended):
    assert [(each["code"], each["err"]) for each in ended] == [(0, "")] * 3
