"""The names of our runs under a log directory: `perf`, and of several workers `perf/worker_<k>`."""

from __future__ import annotations

from pathlib import PurePosixPath

RUN = "perf"
CALLS = "calls"
"""`calls_1`, … hold what `evaluate` and `predict` took where no training told it."""

_WORKER = "worker_"


def worker_run(number: int) -> str:
    """The run of one of several workers."""
    return f"{RUN}/{_WORKER}{number}"


def without_worker(run: str) -> tuple[str, int | None]:
    """A run's path without its worker's part, and the worker's number; None if it has none."""
    path = PurePosixPath(run)
    number = path.name.removeprefix(_WORKER)
    if path.name.startswith(_WORKER) and number.isdecimal():
        return path.parent.as_posix(), int(number)
    return run, None


def is_of_calls(name: str) -> bool:
    """Whether a directory of this name holds calls, and no training."""
    return name.startswith(f"{CALLS}_") and name.removeprefix(f"{CALLS}_").isdecimal()


def is_ours(name: str, above: str) -> bool:
    """Whether a directory of this name, in one named `above`, is a run of ours."""
    return name == RUN or (above == RUN and name.startswith(_WORKER))
