"""What two workers say to each other: fixed sizes, no parsing of what a stranger sends."""

from __future__ import annotations

import enum
import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from keras_perf.cluster.tf_config import Cluster

MAGIC = b"keras_perf peers"
# Another one, as a call to a port on which nobody listens yet may reach the caller itself.
_ANSWER_MAGIC = b"keras_perf reply"
_HELLO = struct.Struct("!16sII32s16s")
_ANSWER = struct.Struct("!16sBI")
_MESSAGE = struct.Struct("!BI")
HELLO_BYTES, ANSWER_BYTES, MESSAGE_BYTES = _HELLO.size, _ANSWER.size, _MESSAGE.size


class Verdict(enum.IntEnum):
    """What the process that was called says to a hello."""

    WELCOME = 0
    OTHER_CLUSTER = 1
    OTHER_WORKER = 2
    TAKEN = 3


class Kind(enum.IntEnum):
    """What a message says; the worker that it carries is the sender unless said otherwise."""

    BEAT = 0  # alive, and connected with everybody
    GOODBYE = 1
    GAVE_UP = 2  # waited too long for the worker it carries
    LOST = 3  # ends because it lost the worker it carries


@dataclass(frozen=True)
class Hello:
    """The first that is said on a connection, by who calls.

    Attributes:
        caller: the worker who calls.
        called: the worker whose address was called.
        digest: of the caller's cluster.
        process: 16 random bytes that tell two processes apart.
    """

    caller: int
    called: int
    digest: bytes
    process: bytes

    def pack(self) -> bytes:
        """As it is sent."""
        return _HELLO.pack(MAGIC, self.caller, self.called, self.digest, self.process)


def unpack_hello(data: bytes) -> Hello:
    """A hello from its bytes, which begin with `MAGIC`."""
    return Hello(*_HELLO.unpack(data)[1:])


def pack_answer(verdict: Verdict, rank: int) -> bytes:
    """The answer of worker `rank`."""
    return _ANSWER.pack(_ANSWER_MAGIC, verdict, rank)


def unpack_answer(data: bytes) -> tuple[Verdict, int] | None:
    """Verdict and who gave it; None for what is no answer."""
    if len(data) != ANSWER_BYTES:
        return None
    magic, verdict, rank = _ANSWER.unpack(data)
    known = magic == _ANSWER_MAGIC and verdict in list(Verdict)
    return (Verdict(verdict), rank) if known else None


def pack_message(kind: Kind, rank: int) -> bytes:
    """A message about worker `rank`."""
    return _MESSAGE.pack(kind, rank)


def unpack_message(data: bytes) -> tuple[Kind, int] | None:
    """What it says of whom; None for what is no message."""
    kind, rank = _MESSAGE.unpack(data)
    return (Kind(kind), rank) if kind in list(Kind) else None


def digest(cluster: Cluster) -> bytes:
    """32 bytes that are the same for all workers of a cluster."""
    content = json.dumps([cluster.names, cluster.addresses])
    return hashlib.sha256(content.encode()).digest()


def judge(hello: Hello, cluster: Cluster, known: Mapping[int, bytes]) -> Verdict:
    """What to say to a hello.

    Arguments:
        hello: what the caller said.
        cluster: as this process was given it.
        known: the processes that have already called, by worker.
    """
    if hello.digest != digest(cluster) or max(hello.caller, hello.called) >= cluster.size:
        return Verdict.OTHER_CLUSTER
    if hello.called != cluster.rank:
        return Verdict.OTHER_WORKER
    same = known.get(hello.caller, hello.process) == hello.process
    if hello.caller == cluster.rank or not same:
        return Verdict.TAKEN
    return Verdict.WELCOME


def caller_error(verdict: Verdict, cluster: Cluster, called: int, answered: int) -> str:
    """Why the process that called `called` and was answered by `answered` cannot go on."""
    who = cluster.describe(called)
    if verdict is Verdict.OTHER_CLUSTER:
        return (
            f"every worker must be given the same 'cluster' in TF_CONFIG, got another in "
            f"{who} than in this worker, {cluster.describe(cluster.rank)}. Compare the two."
        )
    if verdict is Verdict.OTHER_WORKER:
        return (
            f"every process must have an 'index' of its own in TF_CONFIG, got worker {answered} "
            f"at the address of {who}. Correct the 'task' of the process there."
        )
    return (
        f"every process must have an 'index' of its own in TF_CONFIG, got two that say they are "
        f"{cluster.describe(cluster.rank)}: this one, and one that reached worker {called} "
        "before. Correct the 'task' of one of them."
    )


def called_error(verdict: Verdict, cluster: Cluster, hello: Hello, host: str) -> str:
    """Why the process that got this hello from `host` cannot go on."""
    if verdict is Verdict.OTHER_CLUSTER:
        return (
            f"every worker must be given the same 'cluster' in TF_CONFIG, got another in the "
            f"process at {host} that says it is worker {hello.caller}. Compare it with this "
            f"worker's, {cluster.describe(cluster.rank)}."
        )
    if verdict is Verdict.OTHER_WORKER:
        return (
            f"every process must have an 'index' of its own in TF_CONFIG, got worker "
            f"{cluster.rank} in this process, which is at the address of "
            f"{cluster.describe(hello.called)}. Correct its 'task'."
        )
    return (
        f"every process must have an 'index' of its own in TF_CONFIG, got two that say they are "
        f"{cluster.describe(hello.caller)}, one of them at {host}. Correct the 'task' of one."
    )
