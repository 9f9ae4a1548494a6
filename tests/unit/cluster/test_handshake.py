"""What is said at the beginning of a connection, and who is turned away."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_perf.cluster.handshake import (
    ANSWER_BYTES,
    HELLO_BYTES,
    MAGIC,
    MESSAGE_BYTES,
    Hello,
    Kind,
    Verdict,
    called_error,
    caller_error,
    digest,
    judge,
    pack_answer,
    pack_message,
    unpack_answer,
    unpack_hello,
    unpack_message,
)
from keras_perf.cluster.tf_config import Cluster

RANKS = st.integers(0, 2**32 - 1)
TWO = Cluster(("a:1", "b:1"), 0, ("worker:0", "worker:1"))
HELLO = Hello(caller=1, called=0, digest=digest(TWO), process=b"p" * 16)


@given(RANKS, RANKS, st.binary(min_size=32, max_size=32), st.binary(min_size=16, max_size=16))
def test_a_hello_arrives_as_it_was_said(caller, called, of, process):
    hello = Hello(caller, called, of, process)
    assert hello.pack().startswith(MAGIC)
    assert len(hello.pack()) == HELLO_BYTES
    assert unpack_hello(hello.pack()) == hello


@given(st.sampled_from(Verdict), RANKS)
def test_an_answer_arrives_as_it_was_said(verdict, rank):
    assert unpack_answer(pack_answer(verdict, rank)) == (verdict, rank)


@given(st.sampled_from(Kind), RANKS)
def test_a_message_arrives_as_it_was_said(kind, rank):
    assert unpack_message(pack_message(kind, rank)) == (kind, rank)


@given(st.binary(max_size=2 * ANSWER_BYTES))
def test_what_a_stranger_answers_is_no_answer(data):
    assert unpack_answer(data) is None


@given(st.binary(min_size=MESSAGE_BYTES, max_size=MESSAGE_BYTES))
def test_what_is_no_message_says_nothing(data):
    assert (unpack_message(data) is None) == (data[0] not in list(Kind))


def test_who_reaches_itself_gets_no_answer():
    assert unpack_answer(HELLO.pack()[:ANSWER_BYTES]) is None


def test_all_workers_of_a_cluster_have_the_same_digest():
    assert digest(TWO) == digest(replace(TWO, rank=1))
    assert digest(TWO) != digest(replace(TWO, addresses=("a:1", "b:2")))
    assert digest(TWO) != digest(replace(TWO, names=("chief:0", "worker:0")))


@pytest.mark.parametrize(
    ("hello", "known", "verdict"),
    [
        (HELLO, {}, Verdict.WELCOME),
        (HELLO, {1: b"p" * 16}, Verdict.WELCOME),
        (HELLO, {1: b"q" * 16}, Verdict.TAKEN),
        (replace(HELLO, caller=0), {}, Verdict.TAKEN),
        (replace(HELLO, called=1), {}, Verdict.OTHER_WORKER),
        (replace(HELLO, digest=b"x" * 32), {}, Verdict.OTHER_CLUSTER),
        (replace(HELLO, caller=2), {}, Verdict.OTHER_CLUSTER),
    ],
)
def test_who_is_welcome(hello, known, verdict):
    assert judge(hello, TWO, known) == verdict


@pytest.mark.parametrize(
    ("verdict", "by_caller", "by_called"),
    [
        (Verdict.OTHER_CLUSTER, r"got another in worker 1 \(b:1\) than", r"10\.0\.0\.7.*worker 1"),
        (Verdict.OTHER_WORKER, r"got worker 0 at the address of worker 1 \(b:1\)", "got worker 0"),
        (
            Verdict.TAKEN,
            r"two that say they are worker 0 \(a:1\)",
            r"worker 1 .*10\.0\.0\.7",
        ),
    ],
)
def test_both_sides_name_what_is_wrong_in_one_line(verdict, by_caller, by_called):
    called = called_error(verdict, TWO, HELLO, "10.0.0.7")
    for text, pattern in ((caller_error(verdict, TWO, 1, 0), by_caller), (called, by_called)):
        assert "\n" not in text
        assert re.search(pattern, text)
