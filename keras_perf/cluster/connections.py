"""Two connections between any two workers: on the one that it opened, each of them speaks."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import selectors
import socket
import threading

from keras_perf.cluster.handshake import (
    HELLO_BYTES,
    MAGIC,
    Hello,
    Kind,
    Verdict,
    called_error,
    caller_error,
    digest,
    judge,
    pack_answer,
    pack_message,
    unpack_hello,
)
from keras_perf.cluster.sockets import ATTEMPT_S, ask, listen, require_free
from keras_perf.cluster.tf_config import Cluster, host_and_port
from keras_perf.cluster.worker_connection import Line

_RETRY_S = 0.3
_STRANGERS = 64  # connections at a time whose caller has not yet said who it is

Word = tuple[int, Kind | None, int]
"""Who said it, what (None: its connection ended), and the worker that it is about."""


class CannotMeetError(Exception):
    """Waiting longer will not help; the message says why."""


class Connections:
    """Opens them, answers, speaks and listens; one thread calls it, in turns.

    Raises:
        CannotMeetError: this worker's port is in use.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._process = os.urandom(16)
        self._peers = [rank for rank in range(cluster.size) if rank != cluster.rank]
        self._troubles = dict.fromkeys(self._peers, "not reached yet")
        self._listener: socket.socket | None = self._listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._strangers: list[Line] = []
        self._to: dict[int, Line] = {}
        self._from: dict[int, Line] = {}
        self._reached: queue.SimpleQueue[tuple[int, socket.socket, Verdict, int]]
        self._reached = queue.SimpleQueue()
        for rank in self._peers:
            self._call(rank)

    def missing(self) -> dict[int, str]:
        """The workers without both connections, and what is known of why."""
        one_way = "reached, but it has not reached this worker"
        return {
            rank: one_way if rank in self._to else self._troubles[rank]
            for rank in self._peers
            if rank not in self._to or rank not in self._from
        }

    def turn(self, timeout_s: float) -> list[Word]:
        """Does what there is to do, waiting for it so long at most; what the peers said.

        Raises:
            CannotMeetError: a process has another cluster or the index of another one.
        """
        ready = [key for key, _ in self._selector.select(timeout_s)]
        # The end of a process is seen before the call of the one that was started in its place.
        ready.sort(key=lambda key: key.data is None or key.data.rank is None)
        words: list[Word] = []
        for key in ready:
            if key.data is not None:
                words += self._read(key.data)
            elif key.fileobj is self._listener:
                self._accept()
        while not self._reached.empty():
            self._answered(*self._reached.get())
        return words

    def tell(self, kind: Kind, about: int | None = None) -> None:
        """Says it to every peer that can be reached; what does not get through is dropped.

        Arguments:
            kind: what it says.
            about: of which worker; of this one if None.
        """
        rank = self._cluster.rank if about is None else about
        for line in self._to.values():
            with contextlib.suppress(OSError):
                line.socket.send(pack_message(kind, rank))

    def wake_for(self, file: int) -> None:
        """Has `turn` return also when there is something to be read from another file."""
        self._selector.register(file, selectors.EVENT_READ)

    def stop_listening(self) -> None:
        """Leaves the port to TensorFlow's server; who is not connected now never will be."""
        if self._listener is not None:
            self._selector.unregister(self._listener)
            self._listener.close()
            self._listener = None
        while self._strangers:
            self._hang_up(self._strangers.pop())

    def _listen(self) -> socket.socket:
        host, port = host_and_port(self._cluster.address)
        try:
            require_free(port)
            return listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CannotMeetError(
                    f"this worker must be able to listen on its port in TF_CONFIG, got "
                    f"{error.strerror} for {self._cluster.address}."
                ) from error
        rank = self._cluster.rank
        with contextlib.suppress(OSError):
            answer = ask(socket.create_connection((host, port), ATTEMPT_S), self._hello(rank))
            if answer is not None:
                raise CannotMeetError(caller_error(answer[0], self._cluster, rank, answer[1]))
        raise CannotMeetError(
            f"this worker's port in TF_CONFIG must be free, got {self._cluster.address}, on which "
            "another program listens. Take another port, or end that program."
        )

    def _hello(self, called: int) -> Hello:
        return Hello(self._cluster.rank, called, digest(self._cluster), self._process)

    def _call(self, rank: int) -> None:
        """In a thread, because looking up a name cannot be hurried."""
        threading.Thread(target=self._keep_calling, args=[rank], daemon=True).start()

    def _keep_calling(self, rank: int) -> None:
        address = host_and_port(self._cluster.addresses[rank])
        pause = threading.Event()
        while self._listener is not None:
            try:
                called = socket.create_connection(address, ATTEMPT_S)
            except (OSError, UnicodeError) as error:
                self._troubles[rank] = getattr(error, "strerror", None) or str(error)
            else:
                answer = ask(called, self._hello(rank))
                if answer is not None:
                    self._reached.put((rank, called, *answer))
                    return
                called.close()
                self._troubles[rank] = "no answer, or one from another program"
            pause.wait(_RETRY_S)

    def _answered(self, called: int, at: socket.socket, verdict: Verdict, answered: int) -> None:
        if verdict is not Verdict.WELCOME:
            raise CannotMeetError(caller_error(verdict, self._cluster, called, answered))
        self._to[called] = self._register(Line(at, called))

    def _accept(self) -> None:
        assert self._listener is not None
        with contextlib.suppress(OSError):
            accepted, _ = self._listener.accept()
            self._strangers.append(self._register(Line(accepted)))
        if len(self._strangers) > _STRANGERS:
            self._hang_up(self._strangers.pop(0))

    def _register(self, line: Line) -> Line:
        line.socket.setblocking(False)
        self._selector.register(line.socket, selectors.EVENT_READ, line)
        return line

    def _hang_up(self, line: Line) -> None:
        self._selector.unregister(line.socket)
        line.socket.close()

    def _read(self, line: Line) -> list[Word]:
        if line.socket.fileno() < 0:  # hung up earlier in this turn
            return []
        if not line.hear():
            return self._ended(line)
        if line.rank is None:
            self._meet(line)
        return [] if line.rank is None else [(line.rank, *said) for said in line.words()]

    def _meet(self, line: Line) -> None:
        if not line.heard.startswith(MAGIC[: len(line.heard)]):
            self._ended(line)
            return
        if len(line.heard) < HELLO_BYTES:
            return
        hello = unpack_hello(bytes(line.heard[:HELLO_BYTES]))
        known = {rank: other.process for rank, other in self._from.items()}
        verdict = judge(hello, self._cluster, known)
        try:
            host = line.socket.getpeername()[0]
            line.socket.send(pack_answer(verdict, self._cluster.rank))
        except OSError:
            self._ended(line)
            return
        if verdict is not Verdict.WELCOME:
            raise CannotMeetError(called_error(verdict, self._cluster, hello, host))
        self._strangers.remove(line)
        if hello.caller in self._from:
            self._hang_up(self._from[hello.caller])
        line.rank, line.process = hello.caller, hello.process
        del line.heard[:HELLO_BYTES]
        self._from[hello.caller] = line

    def _ended(self, line: Line) -> list[Word]:
        """A peer's end is told by the connection on which it speaks."""
        self._hang_up(line)
        if line.rank is None:
            self._strangers.remove(line)
            return []
        if self._from.get(line.rank) is line:
            del self._from[line.rank]
            return [(line.rank, None, line.rank)]
        if self._to.get(line.rank) is line:
            del self._to[line.rank]
            self._troubles[line.rank] = "it was there and has left"
            if self._listener is not None:
                self._call(line.rank)
        return []
