"""Changes that were tried, as a notebook shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from keras_perf.records.figures import figure
from keras_perf.showing import html


class Measured(Protocol):
    """A change that was measured."""

    @property
    def id(self) -> str:
        """As the recommendation of the same kind is called."""

    @property
    def where(self) -> str:
        """What it is about."""

    @property
    def gain(self) -> float:
        """How many times as fast it is with the change."""

    @property
    def low(self) -> float:
        """The interval's lower end."""

    @property
    def high(self) -> float:
        """The upper one."""

    @property
    def before_ms(self) -> float:
        """Without it."""

    @property
    def after_ms(self) -> float:
        """With it."""


def changes_table(of: str, tried: Sequence[Measured], outcomes: Sequence[str]) -> str:
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
