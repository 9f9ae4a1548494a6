"""Which peer is lost, and which only finished."""

from __future__ import annotations

import pytest

from keras_perf.cluster.handshake import Kind
from keras_perf.cluster.peer_loss import HeardPeers
from keras_perf.cluster.tf_config import Cluster

THREE = Cluster(("a:1", "b:1", "c:1"), 0, ("worker:0", "worker:1", "worker:2"))


@pytest.fixture
def peers():
    return HeardPeers(THREE, left=[])


def lost_after(peers, beats, speakers):
    for beat in range(1, beats + 1):
        for speaker in speakers:
            assert peers.hear((speaker, Kind.BEAT, speaker)) is None
        lost = peers.beat()
        if lost is not None:
            return beat, lost
    return None


def test_who_speaks_is_there(peers):
    assert lost_after(peers, 100, speakers=[1, 2]) is None


def test_who_is_silent_for_ten_beats_is_lost(peers):
    beat, (rank, line) = lost_after(peers, 100, speakers=[1])
    assert (beat, rank) == (11, 2)
    assert line.startswith("worker 2 (c:1) is gone: silent for 10 s")


def test_an_end_without_a_goodbye_is_a_loss(peers):
    rank, line = peers.hear((1, None, 1))
    assert rank == 1
    assert line.startswith("worker 1 (b:1) is gone: its connection ended without a goodbye")


def test_after_a_goodbye_neither_end_nor_silence_is_a_loss(peers):
    assert peers.hear((1, Kind.GOODBYE, 1)) is None
    assert peers.hear((1, None, 1)) is None
    assert lost_after(peers, 100, speakers=[2]) is None


def test_who_said_goodbye_before_is_not_waited_for():
    assert lost_after(HeardPeers(THREE, left=[1]), 100, speakers=[2]) is None


@pytest.mark.parametrize("kind", [Kind.LOST, Kind.GAVE_UP])
def test_who_ends_because_of_another_one_names_it(peers, kind):
    assert peers.hear((1, kind, 2)) == (
        2,
        "worker 2 (c:1) is gone: worker 1 (b:1) has lost it",
    )


@pytest.mark.parametrize("about", [0, 99])
def test_who_ends_because_of_this_worker_is_itself_the_lost_one(peers, about):
    rank, line = peers.hear((1, Kind.LOST, about))
    assert rank == 1
    assert line.startswith("worker 1 (b:1) is gone: it heard nothing from this worker")
