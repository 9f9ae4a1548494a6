"""Which of several workers this process is, told by TF_CONFIG alone."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterable
from typing import Any, NamedTuple

Workers = str | tuple[int, ...]

_MOST_DIGITS = 9
_short = reprlib.Repr()
_short.maxstring = _short.maxother = 120

_REMEDY = "Give 'chief', 'all' or a list of worker numbers, such as [0, 3]; the chief is 0."


def require_workers(workers: object) -> Workers:
    """`workers`, if it is 'chief', 'all' or numbers of workers.

    Raises:
        TypeError: neither a str nor an iterable of ints.
        ValueError: another word, or a number below 0, or none.
    """
    if isinstance(workers, str):
        if workers not in ("chief", "all"):
            raise ValueError(
                f"workers must be 'chief', 'all' or a list, got {workers!r}. {_REMEDY}"
            )
        return workers
    numbers = tuple(workers) if isinstance(workers, Iterable) else None
    if numbers is None or any(isinstance(n, bool) or not isinstance(n, int) for n in numbers):
        raise TypeError(f"workers must be 'chief', 'all' or ints, got {workers!r}. {_REMEDY}")
    if not numbers or min(numbers) < 0:
        raise ValueError(f"workers must name a worker from 0 on, got {workers!r}. {_REMEDY}")
    return numbers


def is_chosen(workers: Workers, tf_config: str | None) -> bool:
    """Whether this process is among `workers`.

    Arguments:
        workers: as `require_workers` gives it.
        tf_config: the value of the environment variable TF_CONFIG; None where it is not set,
            which makes this process the chief.

    Raises:
        ValueError: `tf_config` cannot be read.
    """
    return workers == "all" or includes(workers, worker_number(tf_config))


def includes(workers: Workers, number: int | None) -> bool:
    """Whether the worker of this number, or None for what is no worker, is among `workers`."""
    if isinstance(workers, str):
        return workers == "all" or number == 0
    return number in workers


def place_among_workers(tf_config: str | None) -> tuple[int | None, int | None]:
    """The worker's own number and how many there are; twice None if it is the only one.

    What cannot be read counts as no cluster.
    """
    try:
        place = _place(tf_config)
    except ValueError:
        return None, None
    return place if place.number is not None and place.workers > 1 else (None, None)


def absent_workers(workers: Workers, tf_config: str | None) -> tuple[int, ...]:
    """Those numbers among `workers` that no worker has, for the chief to say; others get none.

    Raises:
        ValueError: `tf_config` cannot be read.
    """
    place = _place(tf_config)
    if isinstance(workers, str) or place.number != 0:
        return ()
    return tuple(number for number in workers if number >= max(1, place.workers))


def worker_number(tf_config: str | None) -> int | None:
    """0 for the chief, then the workers in their order; None for what is no worker.

    Raises:
        ValueError: it cannot be read.
    """
    return _place(tf_config).number


class _Place(NamedTuple):
    number: int | None
    workers: int
    """Workers that TF_CONFIG names, the chief among them."""


def _place(tf_config: str | None) -> _Place:
    if not tf_config:
        return _Place(0, 0)
    try:
        # What is nested too deeply is a RecursionError.
        content = _object("the whole", json.loads(tf_config))
        cluster = _object("'cluster'", content.get("cluster", {}))
        task = _object("'task'", content.get("task", {}))
        kind, index = task.get("type", "worker"), _index(task.get("index", 0))
        chiefs, workers = (_count(cluster, jobs) for jobs in (("chief", "master"), ("worker",)))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            "TF_CONFIG must be JSON with 'cluster' and 'task', got "
            f"{_short.repr(tf_config)} ({error})."
        ) from error
    if kind in ("chief", "master"):
        return _Place(0, chiefs + workers)
    return _Place(index + bool(chiefs) if kind == "worker" else None, chiefs + workers)


def _object(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object, not {_short.repr(value)}")
    return value


def _index(value: object) -> int:
    """A task's index, which TensorFlow also takes as digits in a string."""
    digits = value if isinstance(value, str) else str(value) if type(value) is int else ""
    if not re.fullmatch("[0-9]+", digits) or len(digits) > _MOST_DIGITS:
        raise ValueError(f"'index' must be an integer from 0 on, not {_short.repr(value)}")
    return int(digits)


def _count(cluster: dict[str, Any], jobs: Iterable[str]) -> int:
    """How many addresses the jobs have; a job may be left out, or a part of its tasks."""
    found = 0
    for job in jobs:
        addresses = cluster.get(job) or []
        if not isinstance(addresses, list | dict):
            raise ValueError(f"job {job!r} must be a list, not {_short.repr(addresses)}")
        found += len(addresses)
    return found
