"""The longest steps and pauses of a run."""

from __future__ import annotations

from collections.abc import Sequence

from keras_perf.records.run.outlier import CAUSES, Outlier
from keras_perf.report.text.forms import Markdown

SHOWN = 20


def outliers_markdown(outliers: Sequence[Outlier]) -> str | None:
    """The worst as a table for TensorBoard's Text tab; None where there is none."""
    events = outliers[:SHOWN]
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
