"""The longest steps and pauses of a run, from its context record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keras_perf.records.outlier import CAUSES, Cause, GapEvent
from keras_perf.report.text.forms import Markdown

SHOWN = 20


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


def events_markdown(context: Mapping[str, Any]) -> str | None:
    """The worst as a table for TensorBoard's Text tab; None where there is none."""
    events = events_of(context)[:SHOWN]
    if not events:
        return None
    rows = [
        [
            CAUSES[event.cause] + (f" {event.owner}" if event.owner else ""),
            f"{event.step:,}",
            f"{event.excess_ms:,.1f}",
            f"{event.usual_ms:,.2f}",
        ]
        for event in events
    ]
    header = ["what happened", "step", "longer by, ms", "usual, ms"]
    form = Markdown()
    form.paragraph(f"The worst {len(rows)}:")
    form.table(header, rows)
    return str(form)
