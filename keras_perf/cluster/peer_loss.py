"""Which peer is lost, from what they say and how often they say nothing; knows no socket."""

from __future__ import annotations

from collections.abc import Iterable

from keras_perf.cluster.connections import Word
from keras_perf.cluster.handshake import Kind
from keras_perf.cluster.tf_config import Cluster

BEAT_S = 1.0
_SILENT_BEATS = 10

Lost = tuple[int, str]
"""A worker, and in words that it is gone."""


class HeardPeers:
    """Hears the peers.

    Silence is counted in beats of this process, not in time: when it was stopped itself it
    first hears what the peers have said meanwhile.

    Arguments:
        cluster: the workers.
        left: the peers that have said goodbye already.
    """

    def __init__(self, cluster: Cluster, left: Iterable[int]) -> None:
        self._cluster = cluster
        gone = {cluster.rank, *left}
        self._silent = {rank: 0 for rank in range(cluster.size) if rank not in gone}

    def hear(self, word: Word) -> Lost | None:
        """Takes what a peer said."""
        sender, kind, about = word
        if sender not in self._silent:
            return None
        self._silent[sender] = 0
        if kind is Kind.BEAT:
            return None
        if kind is Kind.GOODBYE:
            del self._silent[sender]
            return None
        who = self._cluster.describe(sender)
        if kind is None:
            return sender, (
                f"{who} is gone: its connection ended without a goodbye (it was killed or has "
                "failed, see its own output)"
            )
        if about == self._cluster.rank or about >= self._cluster.size:
            return sender, f"{who} is gone: it heard nothing from this worker and ended"
        return about, f"{self._cluster.describe(about)} is gone: {who} has lost it"

    def beat(self) -> Lost | None:
        """To be called every `BEAT_S`."""
        for rank in self._silent:
            self._silent[rank] += 1
            if self._silent[rank] > _SILENT_BEATS:
                return rank, (
                    f"{self._cluster.describe(rank)} is gone: silent for "
                    f"{_SILENT_BEATS * BEAT_S:g} s (it is stopped, or its host or network is down)"
                )
        return None
