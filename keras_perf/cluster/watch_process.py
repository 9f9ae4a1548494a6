"""The process beside a worker that waits for the peers and then watches them.

A process, because TensorFlow holds Python's interpreter lock while its strategy waits for the
others: a thread could then neither show the peers that this worker lives nor end it.
It reads one line from its standard input, what to do, and later a goodbye or the end; it writes
one line, that all are there or why not, and later that a peer is lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from keras_perf.cluster.barrier import Gathering
from keras_perf.cluster.connections import CannotMeetError, Connections
from keras_perf.cluster.exit_codes import EXIT_PEER_LOST
from keras_perf.cluster.handshake import Kind
from keras_perf.cluster.peer_loss import BEAT_S, HeardPeers, Lost
from keras_perf.cluster.tf_config import Cluster

_TURN_S = 0.2
_END_LIMIT_S = 3.0


def main() -> None:
    """Waits and watches until the worker says goodbye, ends, or has lost a peer."""
    # They are meant for the worker, also where a launcher sends them to every process.
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    worker = os.getppid()
    given = sys.stdin.buffer.readline()
    if not given:
        return
    addresses, rank, names, deadline_s = json.loads(given)
    cluster = Cluster(tuple(addresses), rank, tuple(names))
    try:
        connections = Connections(cluster)
        left = _gather(connections, cluster, deadline_s, worker)
    except CannotMeetError as error:
        _report({"error": str(error)})
        return
    connections.stop_listening()
    _report({})
    lost = _watch(connections, HeardPeers(cluster, left), worker)
    if lost is not None:
        rank, line = lost
        connections.tell(Kind.LOST, rank)
        _say(f"{line}; this worker ends with code {EXIT_PEER_LOST}")
        _end(worker)


def _gather(connections: Connections, cluster: Cluster, deadline_s: float, worker: int) -> set[int]:
    """Until all are there or `worker` has ended; the peers that have said goodbye since.

    Raises:
        CannotMeetError: they cannot come together; the peers have been told.
    """
    gathering = Gathering(cluster, deadline_s)
    begin, next_beat_s = time.monotonic(), 0.0
    try:
        while os.getppid() == worker:
            for word in connections.turn(_TURN_S):
                gathering.hear(word)
            waited_s = time.monotonic() - begin
            missing = connections.missing()
            if gathering.connected(missing) and waited_s >= next_beat_s:
                connections.tell(Kind.BEAT)
                next_beat_s = waited_s + BEAT_S
            if gathering.complete(missing):
                break
            line = gathering.waited(waited_s, missing)
            if line is not None:
                _say(line)
    except CannotMeetError:
        connections.tell(Kind.GAVE_UP, gathering.culprit(connections.missing()))
        raise
    return gathering.left


def _watch(connections: Connections, peers: HeardPeers, worker: int) -> Lost | None:
    """Until a peer is lost, or `worker` has said goodbye or ended."""
    next_beat = time.monotonic()
    os.set_blocking(0, False)
    connections.wake_for(0)
    while True:
        for word in connections.turn(_TURN_S):
            lost = peers.hear(word)
            if lost is not None:
                return lost
        heard = _heard()
        if heard == b"" or os.getppid() != worker:
            return None
        if heard is not None:
            connections.tell(Kind.GOODBYE)
            return None
        if time.monotonic() >= next_beat:
            next_beat = time.monotonic() + BEAT_S
            if not _is_stopped(worker):
                connections.tell(Kind.BEAT)
            lost = peers.beat()
            if lost is not None:
                return lost


def _heard() -> bytes | None:
    """What the worker says; empty at its end, None while it says nothing."""
    try:
        return os.read(0, 64)
    except BlockingIOError:
        return None


def _is_stopped(process: int) -> bool:
    """Whether it was stopped by a signal or a debugger; False where /proc does not tell."""
    with contextlib.suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return state in (b"T", b"t")
    return False


def _end(worker: int) -> None:
    """Has it end itself; kills it where it does not."""
    _report({"lost": "a peer"})
    give_up = time.monotonic() + _END_LIMIT_S
    while os.getppid() == worker:
        if time.monotonic() > give_up:
            os.kill(worker, signal.SIGKILL)
            return
        time.sleep(0.05)


def _report(what: dict[str, str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(what).encode() + b"\n")


def _say(what: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"keras_perf: {what}\n".encode())
