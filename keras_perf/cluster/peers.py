"""The other workers: all there before the strategy is made, all alive until the end.

TensorFlow waits for a missing worker without end, and holds Python's interpreter lock while it
does, so that no thread of the process could do anything about it. A small process beside each
worker therefore waits for the peers and watches them (`watch_process.py`).
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

from keras_perf.cluster.exit_codes import EXIT_PEER_LOST, EXIT_SAVED
from keras_perf.cluster.tf_config import Cluster

__all__ = ["EXIT_PEER_LOST", "PeerError", "PeerWatch", "wait_for_peers"]

_ROOT = Path(__file__).resolve().parents[2]
_START = """
import sys
sys.path.insert(0, sys.argv[1])
from keras_perf.cluster.watch_process import main
main()
"""
# TensorFlow's, by name, as this must be usable before TensorFlow is imported.
_AFTER_A_LOSS = {
    "AbortedError",
    "CancelledError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "UnavailableError",
    "UnknownError",
}
_LOSS_LIMIT_S = 13.0
_FLUSH_LIMIT_S = 2.0
_GOODBYE_LIMIT_S = 5.0


class PeerError(RuntimeError):
    """The workers cannot start together; one line that names who is missing or wrong."""


def wait_for_peers(cluster: Cluster, *, deadline_s: float = 600.0) -> PeerWatch:
    """Waits until every worker has reached every other one; then watches that they live.

    Call it last before the strategy is made: TensorFlow's server then takes over the port that
    was used for this. Every worker of the cluster must call it. Like that server it is not
    authenticated: whoever reaches the port can disturb the start, not more; what a stranger
    sends is ignored and its size bounded. It listens on the address in TF_CONFIG where that is
    one of this host's, and on all interfaces where it is not, or is a name that means loopback
    here (127.0.1.1 in /etc/hosts), until all are there. Any two workers keep two connections,
    which suits some hundred workers.

    Arguments:
        cluster: what `read_cluster` found.
        deadline_s: seconds to wait for the others.

    Returns:
        The watch, which runs until it is closed. When a peer ends without a goodbye, or nothing
        is heard of it for ten seconds, one line on stderr names it and this process ends with
        code `EXIT_PEER_LOST`, within fifteen seconds; with 137 (SIGKILL) where it cannot end
        itself, as while TensorFlow's constructor holds the interpreter or the process is
        stopped. What it cannot see: a peer that lives and hangs.

    Raises:
        PeerError: a worker did not come in time, was given another cluster or the index of
            another one; or this worker's port is in use.
        ValueError: `deadline_s` is not above 0.
    """
    if not deadline_s > 0:
        raise ValueError(f"deadline_s must be above 0, got {deadline_s}. It is in seconds.")
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _START, str(_ROOT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        found = _ask(process, cluster, deadline_s)
    except BaseException:
        _end(process)
        raise
    if "error" in found:
        _end(process)
        raise PeerError(found["error"])
    return PeerWatch(process)


def _ask(process: subprocess.Popen[bytes], cluster: Cluster, deadline_s: float) -> dict[str, str]:
    """Tells the watching process what to do; its answer, once all are there or it gave up."""
    given = [cluster.addresses, cluster.rank, cluster.names, deadline_s]
    with contextlib.suppress(BrokenPipeError):
        _pipe(process.stdin).write(json.dumps(given).encode() + b"\n")
        _pipe(process.stdin).flush()
    line = _pipe(process.stdout).readline()
    if not line:
        return {"error": f"the process that waits for the peers ended ({process.wait()})."}
    answer: dict[str, str] = json.loads(line)
    return answer


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the watching process without a goodbye."""
    process.kill()
    process.communicate()


class PeerWatch:
    """Watches the peers until it is closed; a context manager.

    Its end without an exception, or with `SystemExit` of code 0 or `EXIT_SAVED`, is a `close`.
    After any other exception no goodbye is said, so that the peers end too instead of waiting.
    Where the exception is one that TensorFlow raises when a peer is lost, which it may do before
    that is known here, the loss is waited for, and ends the process as if it had come first.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._closing = False
        self._thread = threading.Thread(target=self._listen, name="keras_perf peers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Says goodbye: the peers do not take the end of this process for a death."""
        self._finish(b"goodbye\n")

    def __enter__(self) -> PeerWatch:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if type(error).__name__ in _AFTER_A_LOSS:
            self._thread.join(_LOSS_LIMIT_S)
        code = error.code if isinstance(error, SystemExit) else error
        self._finish(b"goodbye\n" if code in (None, 0, EXIT_SAVED) else b"")

    def _finish(self, word: bytes) -> None:
        if self._closing:
            return
        self._closing = True
        # It may have been killed, or be about to end this process.
        with contextlib.suppress(BrokenPipeError):
            _pipe(self._process.stdin).write(word)
            _pipe(self._process.stdin).close()
        try:
            self._process.wait(_GOODBYE_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()
        _pipe(self._process.stdout).close()

    def _listen(self) -> None:
        word = _pipe(self._process.stdout).readline()
        if self._closing and not word:
            return
        if not word:
            _say(
                "the process that watches the peers has ended, which the peers take for this "
                "worker's death"
            )
        flushing = threading.Thread(target=_flush, daemon=True)
        flushing.start()
        flushing.join(_FLUSH_LIMIT_S)
        os._exit(EXIT_PEER_LOST)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _say(what: str) -> None:
    line = f"keras_perf: {what}; this worker ends with code {EXIT_PEER_LOST}.\n"
    os.write(2, line.encode())
