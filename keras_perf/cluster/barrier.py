"""Until all workers are there: a barrier with a deadline."""

from __future__ import annotations

from keras_perf.cluster.connections import CannotMeetError, Word
from keras_perf.cluster.handshake import Kind
from keras_perf.cluster.tf_config import Cluster

_FIRST_LINE_S = 10.0
_LINE_EVERY_S = 30.0
_NAMED = 5


class Gathering:
    """Who is there, from what the peers say and the time that has passed; knows no socket.

    A peer is *ready* when it has said that it is connected with everybody.

    Attributes:
        left: the peers that were ready and have said goodbye since.
    """

    def __init__(self, cluster: Cluster, deadline_s: float) -> None:
        self.left: set[int] = set()
        self._cluster = cluster
        self._deadline_s = deadline_s
        self._ready: set[int] = set()
        self._next_line_s = _FIRST_LINE_S

    def hear(self, word: Word) -> None:
        """Takes what a peer said.

        Raises:
            CannotMeetError: it has ended, and will not wait for the others.
        """
        sender, kind, about = word
        who = self._cluster.describe(sender)
        if kind is Kind.BEAT:
            self._ready.add(sender)
        elif kind is Kind.GOODBYE:
            self.left.add(sender)
        elif kind is None:
            # Before it was ready it may be started again and come back.
            if sender in self._ready - self.left:
                raise CannotMeetError(
                    f"every worker must keep running, got the end of {who} right after the start. "
                    "See its own output."
                )
        else:
            lost = about if about < self._cluster.size else sender
            raise CannotMeetError(
                f"every worker must be there, got word from {who} that it gives up, without "
                f"{self._cluster.describe(lost)}. See the output of both."
            )

    def connected(self, missing: dict[int, str]) -> bool:
        """Whether this worker is ready.

        Arguments:
            missing: the peers with whom it is not connected, and why.
        """
        return missing.keys() <= self.left

    def complete(self, missing: dict[int, str]) -> bool:
        """Whether all are ready."""
        there = self._ready | self.left
        return self.connected(missing) and len(there) == self._cluster.size - 1

    def waited(self, waited_s: float, missing: dict[int, str]) -> str | None:
        """A line to print, if it is time for one.

        Raises:
            CannotMeetError: the deadline has passed.
        """
        if waited_s >= self._deadline_s:
            raise CannotMeetError(
                f"every worker must be there within {self._deadline_s:g} s, got none of "
                f"{self._names(missing)}. Start it, or see its own output."
            )
        if waited_s < self._next_line_s:
            return None
        self._next_line_s += _LINE_EVERY_S
        return f"waiting for {self._names(missing)}; {waited_s:.0f} s of {self._deadline_s:g} s"

    def culprit(self, missing: dict[int, str]) -> int:
        """The worker to name to the others when giving up; this one if no other is known."""
        return min(missing.keys() - self.left, default=self._cluster.rank)

    def _names(self, missing: dict[int, str]) -> str:
        why = {rank: trouble for rank, trouble in missing.items() if rank not in self.left}
        if not why:
            peers = set(range(self._cluster.size)) - {self._cluster.rank}
            why = dict.fromkeys(
                sorted(peers - self._ready - self.left), "it still waits for another one"
            )
        names = [f"{self._cluster.describe(rank)}: {trouble}" for rank, trouble in why.items()]
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        return ", ".join(names[:_NAMED] + more)
