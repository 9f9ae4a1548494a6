"""What came of trying advice."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import pandas as pd
import tensorflow as tf

from keras_perf.records.advice_ids import DISABLE_XLA
from keras_perf.records.figures import in_ms
from keras_perf.records.run.tried.advice_trials import WORTHWHILE, AdviceTrials, TriedChange
from keras_perf.showing import html
from keras_perf.trials.shown_changes import changes_table

FREE_BATCH = 0.1
"""Share of a step on a ready batch; input that takes more is in a step's time as well."""

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TriedAdvice:
    """What `try_advice` returns.

    Attributes:
        trials: all figures, an `AdviceTrials`.
        dataset: with those changes of the input that were put together, ready for `fit`; the
            same object where there is none.
    """

    trials: AdviceTrials
    dataset: tf.data.Dataset = field(repr=False)

    @property
    def changes(self) -> tuple[TriedChange, ...]:
        """Those that were put together, in the order in which they were added."""
        return self.trials.together

    @property
    def best(self) -> TriedChange | None:
        """The one that gains most alone, of those that are worth it; None if none is."""
        kept = {(each.id, each.where) for each in self.changes}
        pays = (each for each in self.trials.changes if each.low >= WORTHWHILE)
        alone = [each for each in pays if (each.id, each.where) in kept]
        return max(alone, key=lambda each: each.gain, default=None)

    @property
    def gain(self) -> float:
        """How many times as fast a step is with all of `changes`."""
        return 1.0 if self.trials.total is None else self.trials.total.gain

    def to_frame(self) -> pd.DataFrame:
        """A row a change: those tried alone, the best first, then those tried only on top of these.

        Columns: `id`, `where`, `gain`, `low`, `high`, `before_ms`, `after_ms`, `code`,
        `number`, `costs`, `alters` as in `TriedChange`, and `kept`, whether it is one of `changes`.
        """
        kept = {(each.id, each.where) for each in self.changes}
        columns = [each.name for each in fields(TriedChange) if each.name != "after"]
        rows = [
            [*(getattr(each, name) for name in columns), (each.id, each.where) in kept]
            for each in self.trials.measured
        ]
        return pd.DataFrame(rows, columns=[*columns, "kept"])

    def plot(self) -> Figure:
        """A figure: how many times as fast a step was with each change, best first.

        Lines on the bars are the 80% intervals; the last bar is all of `changes` together.
        """
        from keras_perf.showing.figures import Gain, empty, gains

        shown = self.trials.measured
        tried = [Gain(f"{each.id}\n{each.where}", each.gain, each.low, each.high) for each in shown]
        if (total := self.trials.total) is not None:
            tried.append(Gain("all together", total.gain, total.low, total.high))
        step = f"A step of {in_ms(self.trials.step_ms)}" if self.trials.step_ms else "A step"
        figure, axes = empty(len(tried), f"{step}, with each change")
        gains(axes, tried)
        return figure

    def _repr_html_(self) -> str:
        kept = {(each.id, each.where) for each in self.changes}
        shown = self.trials.measured
        outcomes = [
            "kept" if (each.id, each.where) in kept else "alters training" if each.alters else ""
            for each in shown
        ]
        found = self.trials
        as_it_is = [] if found.together else _as_it_is(found)
        rest = [*_compiled(found), *as_it_is, *_in_all(found)]
        codes = (
            f"{each.code}  # costs {each.costs}" if each.costs else each.code
            for each in self.changes
        )
        pieces = [html.heading(_pair(found)), changes_table("step", shown, outcomes)]
        pieces += map(html.code, codes)
        return html.whole([*pieces, html.listing(rest)])

    def __str__(self) -> str:
        found = self.trials
        lines = [_pair(found), *_compiled(found)]
        lines += [_line(each) for each in sorted(found.changes, key=lambda each: -each.gain)]
        if found.together:
            lines += ["", "Worth it, one on top of the other:"]
            if found.carrier is not None:
                lines.append("(The first gains next to nothing alone, and the others without it.)")
            for each in found.together:
                lines += [_line(each), f"    {each.code}"]
                lines += [f"    # costs {each.costs}"] if each.costs else []
        else:
            lines += ["", *_as_it_is(found)]
        return "\n".join([*lines, *_in_all(found)]) + "\n"


def _in_all(found: AdviceTrials) -> Iterator[str]:
    """What all changes gain, what was not tried, and what ended it."""
    if (total := found.total) is not None and len(found.together) > 1:
        yield f"All together: {total.gain:.2f}× ({total.low:.2f}–{total.high:.2f})."
    for each in found.not_tried:
        yield f"Not tried: {each.id}, {each.where}: {each.why}."
    if found.stopped:
        yield f"Ended by {found.stopped} before all was tried."


def _as_it_is(found: AdviceTrials) -> Iterator[str]:
    """That nothing is put together, and why."""
    if not found.changes:
        yield "No change was measured: the training stays as it is."
        return
    pays = any(each.alters and each.low >= WORTHWHILE for each in found.changes)
    which = "No change that keeps what is learned" if pays else "No change"
    yield f"{which} is worth it: the training stays as it is{_once_only(found)}."
    if found.compilations:
        yield (
            "Compiling for lengths is in no gain: a short training may yet be faster with less of "
            "it, by jit_compile=False or by fewer lengths."
        )


def _once_only(found: AdviceTrials) -> str:
    """What looked fast alone, and was not when it was measured again."""
    once = [each.id for each in found.changes if not each.alters and each.low >= WORTHWHILE]
    if not once:
        return ""
    return f"; measured again, {', '.join(once)} gained nothing, as where what is slow happens once"


def _compiled(found: AdviceTrials) -> Iterator[str]:
    """What XLA compiled for lengths, and until when a training is faster without it."""
    if not found.compilations:
        return
    without = next((each for each in found.changes if each.id == DISABLE_XLA), None)
    then = ""
    waits = (found.batch_ms or 0.0) > FREE_BATCH * (found.ready_ms or found.step_ms)
    if without is not None and not waits:
        # Steps of a ready batch, which has one length: none of them compiles.
        longer_ms = without.after_ms - (found.ready_ms or without.before_ms)
        then = ". Without XLA a step takes no longer, and nothing is compiled"
        if longer_ms > 0:
            steps = math.ceil(1e3 * found.compiling_s / longer_ms)
            then = f". A training of fewer than {steps:,} steps is faster without XLA"
    yield (
        f"XLA seems to have compiled in {found.compilations} executions, for their lengths: "
        f"{found.compiling_s:.1f} s in all, which a training has once and no gain counts{then}."
    )


def _pair(found: AdviceTrials) -> str:
    if not found.step_ms:
        return "No step was measured as it is."
    known = [f"a step {in_ms(found.step_ms)}"]
    if found.ready_ms is not None:
        known.append(f"on a ready batch {in_ms(found.ready_ms)}")
    if found.batch_ms is not None:
        known.append(f"a batch of the input alone {in_ms(found.batch_ms)}")
    return f"As it is: {', '.join(known)}."


def _line(each: TriedChange) -> str:
    gain = f"{each.gain:.2f}× ({each.low:.2f}–{each.high:.2f})"
    alters = f"; alters training: {each.alters}" if each.alters else ""
    return f"{each.id}, {each.where}: {gain}{alters}"
