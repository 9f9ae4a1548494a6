"""Which of several workers are meant, and whether this process is one of them."""

from __future__ import annotations

from collections.abc import Iterable

from keras_perf.cluster.tf_config import ClusterError, read_place
from keras_perf.records.arguments import is_whole

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
    if numbers is None or not all(map(is_whole, numbers)):
        raise TypeError(f"workers must be 'chief', 'all' or ints, got {workers!r}. {_REMEDY}")
    if not numbers or min(numbers) < 0:
        raise ValueError(f"workers must name a worker from 0 on, got {workers!r}. {_REMEDY}")
    return tuple(map(int, numbers))


def is_chosen(workers: Workers, tf_config: str | None) -> bool:
    """Whether this process is among `workers`.

    Arguments:
        workers: as `require_workers` gives it.
        tf_config: as `read_place` takes it.

    Raises:
        ClusterError: `tf_config` cannot be read.
    """
    return workers == "all" or includes(workers, read_place(tf_config).number)


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
        place = read_place(tf_config)
    except ClusterError:
        return None, None
    return place if place.number is not None and place.workers > 1 else (None, None)


def absent_workers(workers: Workers, tf_config: str | None) -> tuple[int, ...]:
    """Those numbers among `workers` that no worker has, for the chief to say; others get none.

    Raises:
        ClusterError: `tf_config` cannot be read.
    """
    place = read_place(tf_config)
    if isinstance(workers, str) or place.number != 0:
        return ()
    return tuple(number for number in workers if number >= max(1, place.workers))
