"""Changes that were tried, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Sequence

from keras_perf.records.figures import figure
from keras_perf.records.run.tried.advice_trials import TriedChange
from keras_perf.records.run.tried.input_changes import InputChange
from keras_perf.showing import html


def changes_table(
    of: str, tried: Sequence[TriedChange | InputChange], outcomes: Sequence[str]
) -> str:
    """A row a change with its gain as a bar; "" where nothing was tried.

    Arguments:
        of: what was timed, such as `step`.
        tried: in the order in which they are shown.
        outcomes: what came of each.
    """
    if not tried:
        return ""
    rows = [
        [
            f"{each.id}, {each.where}",
            f"{figure(each.before_ms)} → {figure(each.after_ms)}",
            f"{each.gain:.2f}× ({each.low:.2f}–{each.high:.2f})",
            outcome,
        ]
        for each, outcome in zip(tried, outcomes, strict=True)
    ]
    most = max(each.gain for each in tried)
    bars = [each.gain / most for each in tried]
    return html.table(["change", f"{of}, ms", "gain", "outcome"], rows, bars)
