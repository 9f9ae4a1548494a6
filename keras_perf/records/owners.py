"""Names of those who take time on the host, beside callbacks' `Class.hook`."""

from __future__ import annotations

COLLECTOR = "gc.collect"
"""Python's garbage collector, where it ran inside a callback's hook."""
