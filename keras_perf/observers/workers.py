"""Which of several workers this process is, told by TF_CONFIG alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

Workers = str | tuple[int, ...]

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
        number = worker_number(tf_config)
    except ValueError:
        return None, None
    cluster = json.loads(tf_config).get("cluster", {}) if tf_config else {}
    count = sum(len(cluster.get(job) or ()) for job in ("chief", "master", "worker"))
    return (number, count) if number is not None and count > 1 else (None, None)


def absent_workers(workers: Workers, tf_config: str | None) -> tuple[int, ...]:
    """Those numbers among `workers` that no worker has, for the chief to say; others get none.

    Raises:
        ValueError: `tf_config` cannot be read.
    """
    if isinstance(workers, str) or worker_number(tf_config) != 0:
        return ()
    count = place_among_workers(tf_config)[1] or 1
    return tuple(number for number in workers if number >= count)


def worker_number(tf_config: str | None) -> int | None:
    """0 for the chief, then the workers in their order; None for what is no worker.

    Raises:
        ValueError: it cannot be read.
    """
    if not tf_config:
        return 0
    try:
        content: dict[str, Any] = json.loads(tf_config)
        cluster, task = content.get("cluster", {}), content.get("task", {})
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
        has_chief = bool(cluster.get("chief") or cluster.get("master"))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(
            f"TF_CONFIG must be JSON with 'cluster' and 'task', got {tf_config!r} ({error})."
        ) from error
    if kind in ("chief", "master"):
        return 0
    return index + has_chief if kind == "worker" else None
