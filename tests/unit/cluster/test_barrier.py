"""When all workers are there, and what is said while they are not."""

from __future__ import annotations

import pytest

from keras_perf.cluster.barrier import Gathering
from keras_perf.cluster.connections import CannotMeetError
from keras_perf.cluster.handshake import Kind
from keras_perf.cluster.tf_config import Cluster

THREE = Cluster(("a:1", "b:1", "c:1"), 0, ("worker:0", "worker:1", "worker:2"))


def gathering(*words, deadline_s=60.0):
    made = Gathering(THREE, deadline_s)
    for word in words:
        made.hear(word)
    return made


def test_all_are_there_when_all_say_that_they_are_connected():
    one = gathering((1, Kind.BEAT, 1))
    assert not one.complete({})
    one.hear((2, Kind.BEAT, 2))
    assert one.complete({})
    assert not one.complete({2: "not reached yet"})


def test_a_worker_that_has_finished_already_was_there():
    both = gathering((1, Kind.BEAT, 1), (1, Kind.GOODBYE, 1), (1, None, 1), (2, Kind.BEAT, 2))
    assert both.complete({1: "it was there and has left"})
    assert both.left == {1}


def test_a_worker_that_left_before_it_was_ready_may_come_back():
    back = gathering((1, None, 1), (1, Kind.BEAT, 1), (2, Kind.BEAT, 2))
    assert back.complete({})


def test_a_worker_that_left_after_it_was_ready_is_named():
    with pytest.raises(CannotMeetError, match=r"got the end of worker 1 \(b:1\)"):
        gathering((1, Kind.BEAT, 1), (1, None, 1))


@pytest.mark.parametrize("kind", [Kind.GAVE_UP, Kind.LOST])
def test_who_gives_up_names_the_worker_it_lacks(kind):
    with pytest.raises(CannotMeetError, match=r"worker 1 \(b:1\).*without worker 2 \(c:1\)"):
        gathering((1, kind, 2))


def test_a_worker_that_cannot_be_is_not_named():
    with pytest.raises(CannotMeetError, match=r"gives up, without worker 1 \(b:1\)"):
        gathering((1, Kind.GAVE_UP, 7))


def test_a_line_is_due_after_ten_seconds_and_then_every_thirty():
    waiting = gathering()
    missing = {2: "Connection refused"}
    lines = {second: waiting.waited(second, missing) for second in range(45)}
    assert [second for second, line in lines.items() if line] == [10, 40]
    assert lines[10] == "waiting for worker 2 (c:1): Connection refused; 10 s of 60 s"


def test_after_the_deadline_who_is_missing_is_named():
    with pytest.raises(CannotMeetError, match=r"within 60 s, got none of worker 1 \(b:1\): why"):
        gathering().waited(60, {1: "why"})


def test_who_waits_for_another_one_is_named_when_nobody_else_is_missing():
    with pytest.raises(CannotMeetError, match=r"none of worker 2 \(c:1\): it still waits"):
        gathering((1, Kind.BEAT, 1)).waited(60, {})


def test_of_many_missing_workers_five_are_named():
    many = Cluster(tuple(f"h{i}:1" for i in range(9)), 0, tuple(f"worker:{i}" for i in range(9)))
    with pytest.raises(CannotMeetError, match=r"worker 5 \(h5:1\): why, 3 more\. Start"):
        Gathering(many, 60).waited(60, dict.fromkeys(range(1, 9), "why"))
