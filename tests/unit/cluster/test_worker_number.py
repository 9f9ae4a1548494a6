"""Which worker this is, from TF_CONFIG alone."""

from __future__ import annotations

import json

import pytest

from keras_perf.cluster.tf_config import read_place
from keras_perf.cluster.worker_number import (
    absent_workers,
    includes,
    is_chosen,
    place_among_workers,
    require_workers,
)

TWO = ["a:1", "b:1"]


def config(kind, index, **cluster):
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


@pytest.mark.parametrize(
    ("tf_config", "number"),
    [
        (None, 0),
        ("", 0),
        ("{}", 0),
        (config("worker", 0, worker=TWO), 0),
        (config("worker", 1, worker=TWO), 1),
        (config("chief", 0, chief=["c:1"], worker=TWO), 0),
        (config("worker", 0, chief=["c:1"], worker=TWO), 1),
        (config("worker", 1, chief=["c:1"], worker=TWO), 2),
        (config("ps", 0, worker=TWO, ps=["d:1"]), None),
        (config("evaluator", 0, worker=TWO), None),
        (config("evaluator", 0, worker=TWO, evaluator=["e:1"]), None),
        (config("worker", 1, worker=TWO, ps=["d:1"], evaluator=["e:1"]), 1),
    ],
)
def test_the_chief_is_0_and_the_workers_follow(tf_config, number):
    assert read_place(tf_config).number == number


@pytest.mark.parametrize(
    ("tf_config", "place"),
    [
        (None, (None, None)),
        ("{}", (None, None)),
        ("no json", (None, None)),
        (config("worker", 0, worker=["a:1"]), (None, None)),
        (config("worker", 1, worker=TWO), (1, 2)),
        (config("worker", 1, chief=["c:1"], worker=TWO), (2, 3)),
        (config("chief", 0, chief=["c:1"], worker=["a:1"]), (0, 2)),
        (config("evaluator", 0, worker=TWO), (None, None)),
    ],
)
def test_a_worker_has_a_place_where_there_are_several(tf_config, place):
    assert place_among_workers(tf_config) == place


@pytest.mark.parametrize(
    ("workers", "included"), [("chief", [0]), ("all", [0, 1, None]), ((1,), [1])]
)
def test_numbers_are_among_those_chosen(workers, included):
    assert [number for number in (0, 1, None) if includes(workers, number)] == included


@pytest.mark.parametrize(
    ("workers", "chosen"),
    [("chief", [0]), ("all", [0, 1, 2]), ([1], [1]), ((2, 0), [0, 2]), (range(1, 9), [1, 2])],
)
def test_those_chosen_capture_and_no_other(workers, chosen):
    three = [*TWO, "c:1"]
    configs = [config("worker", index, worker=three) for index in range(3)]
    wanted = require_workers(workers)
    assert [i for i in range(3) if is_chosen(wanted, configs[i])] == chosen


UNREADABLE = [
    "no json",
    "[]",
    "null",
    "3",
    '"a string"',
    b"\xff",
    "[" * 100_000,
    '{"a":' * 100_000,
    "9" * 5000,
    '{"task": 3}',
    '{"task": null}',
    '{"cluster": null}',
    '{"cluster": []}',
    '{"cluster": {"worker": 5}}',
    '{"cluster": {"worker": "a:1"}}',
    '{"cluster": {"chief": 1.5}}',
    config("worker", "x", worker=TWO),
    config("worker", 2, worker=TWO),
    config("ps", 0, worker=TWO),
    config("master", 0, master=["c:1"], worker=TWO),
    config("worker", 0, master=["c:1"], worker=TWO),
    json.dumps({"cluster": {"worker": TWO}}),
    *(config("worker", index, worker=TWO) for index in (None, [], -1, True, 1.5, 1e400, 10**4000)),
    *(config(kind, 0, worker=TWO) for kind in (None, 3, ["worker"], {})),
]


@pytest.mark.fault(2, "a TF_CONFIG that is no JSON, no object, or of wrong types")
@pytest.mark.parametrize("tf_config", UNREADABLE, ids=lambda text: repr(text[:40]))
def test_a_config_that_cannot_be_read_is_said(tf_config):
    with pytest.raises(ValueError, match=r"^TF_CONFIG.* got .{,600}$"):
        read_place(tf_config)
    with pytest.raises(ValueError, match=r"^TF_CONFIG"):
        is_chosen((0, 5), tf_config)
    with pytest.raises(ValueError, match=r"^TF_CONFIG"):
        absent_workers((0, 5), tf_config)
    assert place_among_workers(tf_config) == (None, None)


def test_an_index_may_be_digits_in_a_string():
    assert read_place(config("worker", "1", worker=TWO)).number == 1


@pytest.mark.parametrize("wrong", ["chef", [], [-1], ()])
def test_workers_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^workers must .*, got .*the chief is 0"):
        require_workers(wrong)


@pytest.mark.parametrize("wrong", [None, 3, [1.5], ["0"], [True]])
def test_what_names_no_workers_is_refused(wrong):
    with pytest.raises(TypeError, match=r"^workers must be 'chief', 'all' or ints"):
        require_workers(wrong)


@pytest.mark.parametrize(
    ("tf_config", "absent"),
    [
        (None, (1, 3)),
        (config("worker", 0, worker=TWO), (3,)),
        (config("chief", 0, chief=["c:1"], worker=TWO), (3,)),
        (config("chief", 0, chief=["c:1"], worker=[*TWO, "d:1"]), ()),
        (config("worker", 1, worker=TWO), ()),
        (config("evaluator", 0, worker=TWO), ()),
    ],
)
def test_the_chief_is_told_which_workers_there_are_not(tf_config, absent):
    assert absent_workers((0, 1, 3), tf_config) == absent
    assert absent_workers("all", tf_config) == absent_workers("chief", tf_config) == ()
