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
    if workers == "all":
        return True
    number = worker_number(tf_config)
    return number == 0 if workers == "chief" else number in workers


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
