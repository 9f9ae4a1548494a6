"""A profiler's marker of a step, made where the step begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class LateMarker:
    """A profiler's own marker, made late: its clock starts where it is made.

    Arguments:
        marker: makes it, of a name and what else it is told.
    """

    def __init__(self, marker: Callable[..., Any], **told: int) -> None:
        self._make, self._told = marker, told

    def __enter__(self) -> None:
        self._marker = self._make("train", **self._told)
        self._marker.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._marker.__exit__(*error)
