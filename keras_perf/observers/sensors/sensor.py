"""What a sensor is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Values = Mapping[str, float | Sequence[float]]
"""Tag → value; several values are equally spaced over the time since the reading before."""


class SensorError(RuntimeError):
    """A sensor cannot be read; the message says why and what is missing for it."""


class AbsentError(SensorError):
    """There is nothing to read: no failure, unless somebody knows of one that is there."""


class Reader(Protocol):
    """A sensor."""

    def read(self) -> Values:
        """What it says now; raises SensorError when it has failed."""

    def close(self) -> None:
        """Gives back what it holds."""
