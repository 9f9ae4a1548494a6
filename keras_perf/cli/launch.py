"""Several workers of one training on this machine: TensorFlow's own engine, K processes."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from keras_perf.cli.prefixed_output import PrefixedOutput, SharedOutput
from keras_perf.cluster.exit_codes import EXIT_PEER_LOST, EXIT_SAVED

_TURN_S = 0.1
_AFTER_FAILURE_S = 10.0
_AFTER_LOSS_S = 15.0
_AFTER_SIGNAL_S = 30.0  # as Kubernetes; time to save a checkpoint
_REST_S = 1.0
_PR_SET_PDEATHSIG = 1
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class LaunchError(ValueError):
    """An argument that cannot be meant; one line that names it."""


def launch(workers: int, script: str, arguments: Sequence[str]) -> int:
    """Runs a script as so many workers that find each other by TF_CONFIG, until all have ended.

    Arguments:
        workers: how many, at least 2.
        script: a Python file.
        arguments: the script's own.

    Returns:
        The exit code: that of the worker that failed first (128 + the signal that killed it),
        `EXIT_SAVED` where none failed and one was stopped after a checkpoint, else 0.

    Raises:
        LaunchError: too few workers, or no such script.
    """
    if workers < 2:
        raise LaunchError(
            f"--workers must be at least 2, got {workers}. To train in one process, run "
            f"python {script}."
        )
    if not Path(script).is_file():
        raise LaunchError(f"SCRIPT must be an existing file, got {script!r}.")
    with _ports(workers) as ports, _passed_on() as received:
        command = [sys.executable, script, *arguments]
        started: list[_Worker] = []
        try:
            streams = SharedOutput(sys.stdout.buffer), SharedOutput(sys.stderr.buffer)
            for rank in range(workers):
                started.append(_start(rank, ports, command, streams))
            return _Launched(started, received).run()
        finally:
            for worker in started:
                worker.end(signal.SIGKILL)


@contextlib.contextmanager
def _ports(count: int) -> Iterator[list[int]]:
    """Free ports of 127.0.0.1, held until the workers have ended.

    A socket that is bound and does not listen keeps the system from giving its port to others;
    the worker's server can still listen there, as both allow the reuse of the address.
    """
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            each.bind(("127.0.0.1", 0))
        yield [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def _passed_on() -> Iterator[list[int]]:
    """The signals received meanwhile that are for the workers, but for those ignored as before."""
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)

    heard = [each for each in _PASSED_ON if signal.getsignal(each) is not signal.SIG_IGN]
    before = {number: signal.signal(number, receive) for number in heard}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(eq=False)
class _Worker:
    """A process and what it prints."""

    process: subprocess.Popen[bytes]
    output: tuple[PrefixedOutput, PrefixedOutput]

    def end(self, number: int) -> None:
        """Sends a signal, if it has not ended; SIGKILL also to what it started and left behind."""
        if number == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)


def _start(
    rank: int,
    ports: Sequence[int],
    command: Sequence[str],
    streams: tuple[SharedOutput, SharedOutput],
) -> _Worker:
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports]}
    config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})
    process = subprocess.Popen(
        command,
        env={**os.environ, "TF_CONFIG": config, "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C comes to them once, from here
        preexec_fn=_dies_with_its_parent(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    prefix = f"[worker {rank}] ".encode()
    out = PrefixedOutput(process.stdout, streams[0], prefix)
    err = PrefixedOutput(process.stderr, streams[1], prefix)
    return _Worker(process, (out, err))


def _dies_with_its_parent() -> Callable[[], None] | None:
    """For the new process to call: Linux then kills it when this one dies, however it dies.

    Nothing else reaches a worker that waits in a collective: TensorFlow swallows SIGTERM, and
    does not see that a pipe was closed.
    """
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return ask


class _Launched:
    """The workers, from their start to their end."""

    def __init__(self, workers: list[_Worker], received: list[int]) -> None:
        self._workers = workers
        self._received = received
        self._codes: dict[_Worker, int] = {}
        self._failed: int | None = None
        self._stopped = False
        self._stop_at: float | None = None
        self._kill_at: float | None = None
        self._output = [output for worker in workers for output in worker.output]

    def run(self) -> int:
        """Until all have ended; the exit code."""
        for output in self._output:
            output.start()
        while len(self._codes) < len(self._workers):
            time.sleep(_TURN_S)
            self._see_ends()
            if self._received:
                first = self._received[0]
                # Of a terminal that is closed the workers know nothing; SIGTERM has them save.
                number = signal.SIGTERM if first == signal.SIGHUP else first
                self._stop(number, _AFTER_SIGNAL_S)
            self._see_errors()
            if self._received.count(signal.SIGINT) > 1:
                # Somebody who does not want to wait; a scheduler may send SIGTERM twice.
                self._end_all(signal.SIGKILL)
            if self._stop_at is not None and time.monotonic() > self._stop_at:
                self._fail(EXIT_PEER_LOST)
            if self._kill_at is not None and time.monotonic() > self._kill_at:
                self._end_all(signal.SIGKILL)
        until = time.monotonic() + _REST_S
        for output in self._output:
            output.finish(max(0.0, until - time.monotonic()))
        self._see_errors()
        if self._failed is not None:
            return self._failed
        codes = set(self._codes.values())
        return next((code for code in (EXIT_PEER_LOST, EXIT_SAVED) if code in codes), 0)

    def _see_errors(self) -> None:
        """Raises what says that nobody reads our output any more.

        Where the terminal is gone, or the disk full, workers are given the time to save.
        """
        for output in self._output:
            if output.error is None or self._stopped:
                continue
            if output.error.errno not in (errno.EIO, errno.ENOSPC):
                raise output.error
            self._stop(signal.SIGTERM, _AFTER_SIGNAL_S)

    def _see_ends(self) -> None:
        ended = {
            worker: _exit_code(worker.process.returncode)
            for worker in self._workers
            if worker not in self._codes and worker.process.poll() is not None
        }
        self._codes |= ended
        for code in ended.values():
            # Who has lost a peer ends before the peer's own code is known.
            if code == EXIT_PEER_LOST and self._stop_at is None:
                self._stop_at = time.monotonic() + _AFTER_LOSS_S
            elif code not in (0, EXIT_SAVED, EXIT_PEER_LOST):
                self._fail(code)

    def _fail(self, code: int) -> None:
        if self._failed is None:
            self._failed = code
            self._stop(signal.SIGTERM, _AFTER_FAILURE_S)

    def _stop(self, number: int, kill_after_s: float) -> None:
        """Passes a signal on to all, once, and kills them where it has not helped."""
        if not self._stopped:
            self._stopped = True
            self._end_all(number)
            self._kill_at = time.monotonic() + kill_after_s

    def _end_all(self, number: int) -> None:
        for worker in self._workers:
            worker.end(number)


def _exit_code(returncode: int) -> int:
    """As a shell gives it."""
    return returncode if returncode >= 0 else 128 - returncode
