"""Names of those who take time on the host, beside callbacks' `Class.hook`."""

from __future__ import annotations

from typing import Any

from keras_perf.records.text.visible import visible

COLLECTOR = "gc.collect"
"""Python's garbage collector, where it ran inside a callback's hook."""


def owner_of(callback: Any, hook: str) -> str:
    """The owner of the time that a callback's hook takes; it is a part of a tag."""
    return visible(f"{type(callback).__name__}.{hook}")
