"""The cluster that TF_CONFIG describes, and every slip in it that TensorFlow lets pass."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
_TRAIN = ("chief", "worker")
_ALL = (*_TRAIN, "ps", "evaluator")  # that TensorFlow knows
_EXAMPLE = (
    '{"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 120


class ClusterError(ValueError):
    """A cluster that cannot train; one line with the rule, the value and the remedy."""


@dataclass(frozen=True)
class Cluster:
    """The workers that train together, and which of them this process is.

    Attributes:
        addresses: "host:port" of every worker in TensorFlow's order: the chief, where there is
            one, then the workers.
        rank: this process's place in `addresses`.
        names: what TF_CONFIG calls them, such as "chief:0" and "worker:0".
    """

    addresses: tuple[str, ...]
    rank: int
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of workers, the chief included."""
        return len(self.addresses)

    @property
    def address(self) -> str:
        """The "host:port" of this process."""
        return self.addresses[self.rank]

    def describe(self, rank: int) -> str:
        """A worker by its number from the chief (0) on, which also names its run `worker_k`.

        Where TF_CONFIG counts otherwise, its own name for the worker is added.
        """
        name, address = self.names[rank], self.addresses[rank]
        known_as = "" if name == f"worker:{rank}" else f"{name}, "
        return f"worker {rank} ({known_as}{address})"


class Place(NamedTuple):
    """Which of the workers a process is."""

    number: int | None
    """0 for the chief, then the workers in their order; None for what is no worker."""
    workers: int
    """How many workers TF_CONFIG names, the chief among them."""


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of an address; an IPv6 host without its brackets.

    Raises:
        ClusterError: it is no "host:port" that TensorFlow can use.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[2]) < 65536:
        raise ClusterError(
            f"TF_CONFIG: an address must be 'host:port' with a port from 1 to 65535 and no "
            f"scheme, got {_short.repr(address)}. Write it as in '10.0.0.1:2222'."
        )
    return match[1].strip("[]"), int(match[2])


def read_cluster(environ: Mapping[str, str]) -> Cluster | None:
    """The cluster of the environment variable TF_CONFIG.

    Arguments:
        environ: the environment variables.

    Returns:
        None where TF_CONFIG is not set or is an empty object: training on this machine alone.

    Raises:
        ClusterError: with this TF_CONFIG TensorFlow would fail later and less clearly, hang, or
            silently train alone. What cannot be seen here: whether the other workers were given
            the same cluster (`wait_for_peers` asks them) and whether their names resolve.
    """
    read = _read(environ.get("TF_CONFIG"), _TRAIN)
    if read is None:
        return None
    jobs, job, index = read
    names = [f"{job}:{index}" for job in jobs for index in range(len(jobs[job]))]
    addresses = [address for job in jobs for address in jobs[job]]
    _require_different(addresses)
    if len(addresses) == 1:
        raise ClusterError(
            f"TF_CONFIG: a cluster must have at least two workers, got {names[0]} alone, which "
            "would silently train by itself. Start more workers, or unset TF_CONFIG to train on "
            "this machine."
        )
    return Cluster(tuple(addresses), names.index(f"{job}:{index}"), tuple(names))


def read_place(tf_config: str | None) -> Place:
    """Which worker this process is, also beside parameter servers, an evaluator, or nobody.

    Arguments:
        tf_config: the value of the environment variable TF_CONFIG; None, or empty, where there is
            none, which makes this process the chief.

    Raises:
        ClusterError: no strategy of TensorFlow's can read it.
    """
    read = _read(tf_config or None, _ALL)
    if read is None:
        return Place(0, 0)
    jobs, job, index = read
    chiefs, workers = (len(jobs.get(job, ())) for job in _TRAIN)
    number = {"chief": 0, "worker": chiefs + index}.get(job)
    return Place(number, chiefs + workers)


def _read(text: str | None, known: tuple[str, ...]) -> tuple[dict[str, list[str]], str, int] | None:
    """Job → addresses in the order of `known`, this process's job, and its index there."""
    content = None if text is None else _object(text)
    if not content:
        return None
    jobs = _jobs(content.get("cluster"), known)
    return jobs, *_task(content.get("task"), jobs, known)


def _object(text: str) -> dict[str, Any]:
    remedy = f"Give it as in {_EXAMPLE}, or unset TF_CONFIG to train on this machine."
    if not text.strip():
        raise ClusterError(f"TF_CONFIG must be a JSON object, got an empty string. {remedy}")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ClusterError(
            f"TF_CONFIG must be JSON, got {_short.repr(text)} ({error}). {remedy}"
        ) from error
    if not isinstance(content, dict):
        raise ClusterError(f"TF_CONFIG must be a JSON object, got {_short.repr(content)}. {remedy}")
    return content


def _jobs(cluster: object, known: tuple[str, ...]) -> dict[str, list[str]]:
    if not isinstance(cluster, dict) or not cluster:
        raise ClusterError(
            "TF_CONFIG: 'cluster' must name the workers' addresses, got "
            f"{_short.repr(cluster)}. Give it as in {_EXAMPLE}."
        )
    for job, addresses in cluster.items():
        if job not in known:
            raise ClusterError(f"TF_CONFIG: {_unknown_job(job)}")
        if not isinstance(addresses, list) or not addresses:
            raise ClusterError(
                f"TF_CONFIG: job {job!r} must be a list of at least one address, got "
                f"{_short.repr(addresses)}. A job without tasks is left out of 'cluster'."
            )
        for address in addresses:
            if not isinstance(address, str):
                raise ClusterError(
                    f"TF_CONFIG: an address must be a string 'host:port', got "
                    f"{_short.repr(address)} in job {job!r}."
                )
            host_and_port(address)
    if len(cluster.get("chief", [])) > 1:
        raise ClusterError(
            f"TF_CONFIG: there must be at most one chief, got {_short.repr(cluster['chief'])}. "
            "List the others under 'worker'."
        )
    return {job: cluster[job] for job in known if job in cluster}


def _unknown_job(job: object) -> str:
    """Rule, value and remedy for a job that cannot take part."""
    remedies = {
        "ps": "Parameter servers take no part in an all-reduce; leave them out.",
        "evaluator": "An evaluator would silently train alone; the workers evaluate themselves.",
        "master": "TensorFlow 2 calls it 'chief'.",
    }
    remedy = remedies.get(str(job), "Correct its spelling.")
    return f"jobs must be 'chief' and 'worker', got {_short.repr(job)}. {remedy}"


def _require_different(addresses: list[str]) -> None:
    seen: set[str] = set()
    for address in addresses:
        if address.lower() in seen:
            raise ClusterError(
                f"TF_CONFIG: every worker must have an address of its own, got {address!r} "
                "twice. Workers on one host differ in their ports."
            )
        seen.add(address.lower())


def _task(task: object, jobs: Mapping[str, list[str]], known: tuple[str, ...]) -> tuple[str, int]:
    """The job of this process, and its index there."""
    if not isinstance(task, dict) or not task:
        raise ClusterError(
            "TF_CONFIG: 'task' must say which worker this process is, got "
            f"{_short.repr(task)}. Give it as in {_EXAMPLE}."
        )
    job, index = task.get("type"), task.get("index")
    if job is None:
        raise ClusterError("TF_CONFIG: 'task' must have a 'type', 'chief' or 'worker', got none.")
    if job not in known:
        raise ClusterError(f"TF_CONFIG, 'type' of 'task': {_unknown_job(job)}")
    if job == "evaluator":  # which TensorFlow lets stand beside a cluster
        return job, 0
    if job not in jobs:
        raise ClusterError(
            f"TF_CONFIG: the 'type' of 'task' must be a job of 'cluster', which has "
            f"{' and '.join(map(repr, jobs))}, got {job!r}."
        )
    number, last = _number(index), len(jobs[job]) - 1
    if number is None or number > last:
        raise ClusterError(
            f"TF_CONFIG: the 'index' of 'task' must be an integer from 0 to {last}, as job "
            f"{job!r} has {last + 1} in 'cluster', got {_short.repr(index)}. Every process of a "
            "job has an index of its own."
        )
    return job, number


def _number(index: object) -> int | None:
    """An index as TensorFlow reads it, without what `int` would round or guess."""
    if isinstance(index, str) and re.fullmatch("[0-9]{1,9}", index):
        return int(index)
    if isinstance(index, int) and not isinstance(index, bool) and index >= 0:
        return index
    return None
