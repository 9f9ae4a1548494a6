"""Which figures TensorBoard plots.

A single point and a line of zeros tell nobody anything, and what is looked for first must be open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_ALWAYS = ("perf/", "gpu/")
"""Where a missing chart would be taken for a missing measurement."""

_NEVER = ("batch_size/", "capture/", "evaluate/", "host/")
"""What would fold `perf/`: Time Series opens the first two groups by name. The Performance tab
draws batch sizes and the host, lists captures, and has `evaluate` in a table."""


class Point(NamedTuple):
    """A figure that was kept back."""

    step: int
    value: float
    wall_time: float


class Sorted(NamedTuple):
    """How the figures of one step are written."""

    kept: set[str]
    """Tags that are not plotted, or not yet."""
    late: dict[str, Point]
    """The first points of tags that are plotted from now on."""


class PlottedTags:
    """Keeps the first point of a tag, and all its zeros, until there is something to see.

    Of batch sizes, captures, `evaluate` and the host it keeps every point.
    """

    def __init__(self) -> None:
        self._first: dict[str, Point] = {}
        self._plotted: set[str] = set()

    def sort(self, step: int, values: Mapping[str, float], wall_time: float) -> Sorted:
        """Parts what is plotted from what is kept for our reader only."""
        found = Sorted(set(), {})
        for tag, value in values.items():
            if tag.startswith(_NEVER):
                found.kept.add(tag)
                continue
            if tag not in self._plotted and not tag.startswith(_ALWAYS):
                first = self._first.setdefault(tag, Point(step, value, wall_time))
                if first.step == step or not (first.value or value):
                    found.kept.add(tag)
                    continue
                found.late[tag] = first
            self._plotted.add(tag)
        return found
