"""What was tried of advice, as rows."""

from __future__ import annotations

from collections.abc import Iterator

from keras_perf.records.figures import UNKNOWN, figure
from keras_perf.records.run.tried.advice_trials import AdviceTrials, TriedChange
from keras_perf.records.run.tried.input_changes import InputChange, InputChanges

INPUT_CHANGES = "Changes of the input, tried on it alone"
INPUT_HEADER = ("change", "batch, ms", "gain", "")
TRIED_BEFORE = "Tried before this training"
TRIED = "Tried on this training"
TRIED_HEADER = ("change", "step, ms", "gain", "")


def advice_rows(found: AdviceTrials) -> Iterator[list[str]]:
    """A row a change, the best first, then all that was put together."""
    together = {(each.id, each.where) for each in found.together}
    for each in found.measured:
        is_together = (each.id, each.where) in together
        yield _row(each, "put together" + on_top(each) if is_together else alteration(each))
    if found.total is not None and len(found.together) > 1:
        yield ["all together", *_row(found.total, "")[1:]]


def input_rows(found: InputChanges) -> Iterator[list[str]]:
    """A row a change, in the order in which they were tried."""
    for each in found.tried:
        costs = f", costs {each.costs}" if each.costs else ""
        yield _row(each, f"kept{costs}" if each.kept else "not worth it")
    for left in found.not_done:
        yield [named(left.id, left.where), UNKNOWN, UNKNOWN, f"not done: {left.why}"]


def input_outcome(found: InputChanges) -> str:
    """What came of them all, and why no more was tried."""
    return " ".join(filter(None, (found.reason, found.stopped)))


def on_top(change: TriedChange) -> str:
    """On top of what it was measured; "" where alone."""
    return f", on top of {', '.join(change.after)}" if change.after else ""


def alteration(change: TriedChange) -> str:
    """What of the training a change alters; "" where it alters nothing."""
    return f"alters training: {change.alters}" if change.alters else ""


def named(id_: str, where: str) -> str:
    """A change and the part that it is about."""
    return f"{id_} ({where})" if where else id_


def _row(each: TriedChange | InputChange, note: str) -> list[str]:
    return [
        named(each.id, each.where),
        f"{figure(each.before_ms)} → {figure(each.after_ms)}",
        f"{each.gain:.2f}× ({each.low:.2f}–{each.high:.2f})",
        note,
    ]
