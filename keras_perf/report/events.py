"""The longest steps and pauses of a run, from its context record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_perf.records.gap_event import Cause, GapEvent


def events_of(context: Mapping[str, Any]) -> tuple[GapEvent, ...]:
    """Worst first, as they were recorded; () for a run that recorded none."""
    return tuple(
        GapEvent(
            step=int(event["step"]),
            cause=Cause(event["cause"]),
            owner=str(event["owner"]),
            excess_ms=float(event["excess_ms"]),
            usual_ms=float(event["usual_ms"]),
        )
        for event in context.get("events") or ()
    )
