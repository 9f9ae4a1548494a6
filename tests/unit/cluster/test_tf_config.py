"""What is read from TF_CONFIG, and that every slip in it has an error that names it."""

from __future__ import annotations

import json

import pytest

from keras_perf.cluster.tf_config import Cluster, ClusterError, host_and_port, read_cluster

TWO = ["10.0.0.1:2222", "10.0.0.2:2222"]
FIRST = {"type": "worker", "index": 0}


def read(content: object) -> Cluster | None:
    return read_cluster({"TF_CONFIG": json.dumps(content)})


def test_workers_are_numbered_as_they_are_listed():
    cluster = read({"cluster": {"worker": TWO}, "task": {"type": "worker", "index": 1}})
    assert cluster == Cluster(tuple(TWO), 1, ("worker:0", "worker:1"))
    assert (cluster.size, cluster.address) == (2, TWO[1])
    assert cluster.describe(0) == "worker 0 (10.0.0.1:2222)"


def test_a_chief_comes_first_wherever_it_is_listed():
    content = {"cluster": {"worker": TWO, "chief": ["10.0.0.9:1"]}, "task": FIRST}
    cluster = read(content)
    assert cluster == Cluster(("10.0.0.9:1", *TWO), 1, ("chief:0", "worker:0", "worker:1"))
    assert cluster.describe(0) == "worker 0 (chief:0, 10.0.0.9:1)"
    assert cluster.describe(2) == "worker 2 (worker:1, 10.0.0.2:2222)"
    chief = read(content | {"task": {"type": "chief", "index": 0}})
    assert chief.rank == 0


def test_without_a_tf_config_there_is_no_cluster():
    assert read_cluster({}) is None
    assert read_cluster({"TF_CONFIG": "{}"}) is None


@pytest.mark.parametrize("index", [1, "1", "01"])
def test_an_index_may_be_a_string_as_for_tensorflow(index):
    assert read({"cluster": {"worker": TWO}, "task": {"type": "worker", "index": index}}).rank == 1


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "must be a JSON object, got an empty string"),
        (" \n", "must be a JSON object, got an empty string"),
        ("{'cluster': 1}", "must be JSON, got "),
        ('{"cluster": {"worker": ["a:1"', "must be JSON, got "),
        (b"\xff", "must be JSON, got "),
        pytest.param("[" * 100_000, "must be JSON, got ", id="nested too deeply"),
        ("[]", r"must be a JSON object, got \[\]"),
        ("null", "must be a JSON object, got None"),
    ],
)
def test_what_is_no_json_object_is_refused(text, named):
    with pytest.raises(ClusterError, match=rf"^TF_CONFIG {named}.*unset TF_CONFIG") as error:
        read_cluster({"TF_CONFIG": text})
    assert "\n" not in str(error.value)


def with_cluster(cluster: object) -> dict[str, object]:
    return {"cluster": cluster, "task": FIRST}


def with_task(task: object) -> dict[str, object]:
    return {"cluster": {"worker": TWO}, "task": task}


SLIPS = {
    "no cluster": ({"task": FIRST}, "'cluster' must name the workers' addresses, got None"),
    "an empty cluster": (with_cluster({}), "'cluster' must name .*, got {}"),
    "a cluster that is a list": (with_cluster(TWO), "'cluster' must name"),
    "a parameter server": (
        with_cluster({"worker": TWO, "ps": ["c:1"]}),
        "jobs must be 'chief' and 'worker', got 'ps'.*take no part",
    ),
    "no parameter server": (with_cluster({"worker": TWO, "ps": []}), "got 'ps'"),
    "an evaluator": (with_cluster({"worker": TWO, "evaluator": ["c:1"]}), "got 'evaluator'"),
    "a master": (with_cluster({"worker": TWO, "master": ["c:1"]}), "'master'.*calls it 'chief'"),
    "a misspelt job": (with_cluster({"workers": TWO}), "got 'workers'. Correct its spelling"),
    "a job without tasks": (with_cluster({"worker": TWO, "chief": []}), "'chief' must be a list"),
    "a job that is a string": (with_cluster({"worker": "a:1,b:1"}), "'worker' must be a list"),
    "a sparse job": (with_cluster({"worker": {"0": "a:1"}}), "'worker' must be a list"),
    "two chiefs": (with_cluster({"chief": TWO, "worker": ["c:1"]}), "at most one chief, got"),
    "a number for an address": (with_cluster({"worker": [1, 2]}), "a string 'host:port', got 1"),
    "an address twice": (with_cluster({"worker": ["a:1", "A:1"]}), "own, got 'A:1' twice"),
    "an address in two jobs": (
        with_cluster({"chief": ["a:1"], "worker": ["a:1"]}),
        "own, got 'a:1' twice",
    ),
    "one worker": (with_cluster({"worker": ["a:1"]}), "two workers, got worker:0 alone, .*unset"),
    "no task": ({"cluster": {"worker": TWO}}, "'task' must say which worker .*, got None"),
    "an empty task": (with_task({}), "'task' must say which worker"),
    "a task that is a string": (with_task("worker"), "'task' must say .*, got 'worker'"),
    "no type": (with_task({"index": 0}), "must have a 'type'"),
    "a task of a misspelt type": (with_task({"type": "Worker", "index": 0}), "got 'Worker'"),
    "a type that is no string": (with_task({"type": ["worker"], "index": 0}), "jobs must be"),
    "a ps task": (with_task({"type": "ps", "index": 0}), "'type' of 'task': jobs must.*got 'ps'"),
    "an evaluator task": (with_task({"type": "evaluator", "index": 0}), "silently train alone"),
    "a type without a job": (
        with_task({"type": "chief", "index": 0}),
        "must be a job of 'cluster', which has 'worker', got 'chief'",
    ),
    "no index": (with_task({"type": "worker"}), "an integer from 0 to 1, .*got None"),
    "an index too high": (with_task({"type": "worker", "index": 2}), "0 to 1, .*got 2"),
    "a negative index": (with_task({"type": "worker", "index": -1}), "0 to 1, .*got -1"),
    "a negative index in a string": (with_task({"type": "worker", "index": "-1"}), "got '-1'"),
    "an index that is no number": (with_task({"type": "worker", "index": "x"}), "got 'x'"),
    "an index that TensorFlow would round": (
        with_task({"type": "worker", "index": 0.9}),
        "got 0.9",
    ),
    "an index beyond every number": (
        with_task({"type": "worker", "index": 1e400}),
        "an integer from 0 to 1, .*got inf",
    ),
    "a truth for an index": (with_task({"type": "worker", "index": True}), "got True"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named_in_one_line(slip):
    content, named = SLIPS[slip]
    with pytest.raises(ClusterError, match=rf"^TF_CONFIG.*{named}") as error:
        read(content)
    assert "\n" not in str(error.value)


def test_a_long_value_is_shortened():
    with pytest.raises(ClusterError) as error:
        read_cluster({"TF_CONFIG": "x" * 100_000})
    assert len(str(error.value)) < 600


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("10.0.0.1:2222", ("10.0.0.1", 2222)),
        ("train-worker-0.space.svc:65535", ("train-worker-0.space.svc", 65535)),
        ("[::1]:1", ("::1", 1)),
    ],
)
def test_an_address_has_a_host_and_a_port(address, parts):
    assert host_and_port(address) == parts


@pytest.mark.parametrize(
    "address",
    ["a", "a:", ":1", "a:x", "a:0", "a:65536", "a:-1", "a:1 ", "a b:1", "grpc://a:1", "::1:2", ""],
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ClusterError, match=r"'host:port' with a port from 1 to 65535.*got "):
        host_and_port(address)
