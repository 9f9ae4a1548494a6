"""What came of tuning a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import tensorflow as tf

from keras_perf.records.run.tried.advice_trials import NotTried
from keras_perf.records.run.tried.input_changes import InputChange, InputChanges
from keras_perf.showing import html
from keras_perf.trials.measuring.in_turn import Pair
from keras_perf.trials.rewriting.changes import Change, NotDone
from keras_perf.trials.shown_changes import changes_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def as_measured(change: Change, pair: Pair, *, kept: bool) -> InputChange:
    """What a measurement of a change found."""
    return InputChange(
        id=change.id,
        where=change.where,
        kept=kept,
        gain=pair.gain,
        low=pair.low,
        high=pair.high,
        before_ms=pair.before_ms,
        after_ms=pair.after_ms,
        code=change.code,
        costs=change.costs,
    )


@dataclass(frozen=True)
class TunedInput:
    """What `tune_input` returns.

    Attributes:
        dataset: ready for `fit`; the same object where nothing was worth changing.
        changes: those that were kept, in the order in which they were made.
        tried: all that were measured.
        not_done: what was not tried, each with the stage and the reason.
        before_ms, after_ms: a batch of the dataset as it was, by the gains of what was kept, each
            measured in turn, and as it is now; NaN where Ctrl-C came before that was measured.
        stopped: why no more was tried; empty if all was.
    """

    dataset: tf.data.Dataset = field(repr=False)
    tried: tuple[InputChange, ...]
    not_done: tuple[NotDone, ...]
    before_ms: float
    after_ms: float
    stopped: str = ""

    @property
    def changes(self) -> tuple[InputChange, ...]:
        """Those that were kept."""
        return self.record.kept

    @property
    def gain(self) -> float:
        """How many times as fast batches come as before."""
        return self.record.gain

    def to_frame(self) -> pd.DataFrame:
        """A row a change that was tried.

        Columns: `id`, `where`, `kept`, `gain`, `low`, `high`, `before_ms`, `after_ms`, `code`,
        `costs`, as in `InputChange`.
        """
        columns = [each.name for each in fields(InputChange)]
        rows = [[getattr(each, name) for name in columns] for each in self.tried]
        return pd.DataFrame(rows, columns=columns)

    @property
    def record(self) -> InputChanges:
        """What is kept of it in a run."""
        left = (NotTried(id=e.id, where=e.where, why=e.why) for e in self.not_done)
        return InputChanges(
            before_ms=self.before_ms,
            after_ms=self.after_ms,
            tried=self.tried,
            not_done=tuple(left),
            stopped=self.stopped,
        )

    def plot(self) -> Figure:
        """Bars: milliseconds a batch, as the dataset was and as each change was kept.

        Lines on the bars are the 80% intervals. The bar of `prefetch` has the time of a step in
        it, beside which it was measured.
        """
        from keras_perf.showing.figures import ShownFigure

        kept = self.changes
        names = ["as it was", *(f"{each.id}\n{each.where}" for each in kept)]
        means = np.array([self.before_ms, *(each.after_ms for each in kept)])
        ends = [(each.before_ms / each.high, each.before_ms / each.low) for each in kept]
        low, high = np.array([(self.before_ms, self.before_ms), *ends]).T
        figure = ShownFigure(figsize=(1.5 + 1.6 * len(names), 4), layout="constrained")
        axes = figure.add_subplot()
        # Lists: matplotlib 3.7 warns of a single bar's array.
        bounds = np.maximum(0, [means - low, high - means]).tolist()
        known = None if np.isnan(means).any() else bounds
        axes.bar(range(len(names)), means, yerr=known, capsize=4, color="#4c78a8")
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("ms a batch")
        axes.set_title(f"{self.gain:.2f}× as fast")
        return figure

    def _repr_html_(self) -> str:
        outcomes = ["kept" if each.kept else "not worth it" for each in self.tried]
        pieces = [html.heading(self.record.reason), changes_table("batch", self.tried, outcomes)]
        pieces += [html.code(f"{each.code}  # costs {each.costs}") for each in self.changes]
        rest = [f"{each.id}, {each.where}: not done: {each.why}" for each in self.not_done]
        return html.whole([*pieces, html.listing([*rest, *filter(None, [self.stopped])])])

    def __str__(self) -> str:
        lines = [self.record.reason]
        for each in self.tried:
            what = "kept" if each.kept else "not worth it"
            bounds = f"{each.gain:.2f}× ({each.low:.2f}–{each.high:.2f})"
            lines += [f"{each.id}, {each.where}: {bounds}, {what}"]
            if each.kept:
                lines += [f"    {each.code}  # costs {each.costs}"]
        lines += [f"{each.id}, {each.where}: not done: {each.why}" for each in self.not_done]
        if self.stopped:
            lines.append(self.stopped)
        return "\n".join(lines) + "\n"
