"""What a rewriting must show before it is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from keras_perf.records.advice_ids import CACHE
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.run.tried.advice_trials import NotTried, TriedChange
from keras_perf.records.run.tried.input_changes import InputChange
from keras_perf.trials.rewriting.changes import Change, NotDone
from keras_perf.trials.rewriting.changes.stages import named
from keras_perf.trials.rewriting.keeping import Kept, kept_in, length, passed_once, room_for
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import start_alike
from keras_perf.trials.rewriting.shuffle_buffers import soon_filled

Left = TypeVar("Left", NotDone, NotTried)

COMPARED = 64
"""So many elements of a changed stage are compared with those of the stage as it was."""


def reason_against(
    change: Change, graph: PipelineGraph, made: PipelineGraph, within_s: float
) -> str:
    """Why it must not be done; "" if the stage's first elements are as they were.

    Shuffles before them hold few elements in both.

    Arguments:
        change: what was made.
        graph: without it.
        made: with it.
        within_s: seconds that taking the elements may last.
    """
    if not change.stages:
        return ""
    if change.in_memory is not None:
        # To look at the elements of a file would begin to write it.
        change = change.in_memory
        made = change.made(graph)
    was, is_now = change.compared(soon_filled(graph), soon_filled(made))
    if start_alike(was, is_now, COMPARED, within_s):
        return ""
    return WhyNotTried.ELEMENTS_DIFFER.of()


def is_wanted(
    change: Change,
    tried: Iterable[InputChange | TriedChange],
    left: Iterable[NotDone | NotTried],
) -> bool:
    """It is no cache of what may fit into a better place: into memory, or behind more of the work.

    Arguments:
        change: to be tried.
        tried: what was measured.
        left: what was not, and why.
    """
    too_large = {(each.id, each.where) for each in left if _has_no_room(each.why)}
    if change.folder is not None and (change.id, change.where) not in too_large:
        return False
    better = change.id, change.in_place_of
    measured = {(each.id, each.where) for each in tried}
    return not change.in_place_of or (better in too_large and better not in measured)


def still_left(
    tried: Iterable[InputChange | TriedChange], left: Iterable[Left]
) -> tuple[Left, ...]:
    """What was not tried, without caches that had no room in memory and were tried in files."""
    measured = {(each.id, each.where) for each in tried}
    return tuple(e for e in left if not (_has_no_room(e.why) and (e.id, e.where) in measured))


def _has_no_room(why: str) -> bool:
    rooms = WhyNotTried.NO_MEMORY.word, WhyNotTried.NO_DISK.word
    return isinstance(why, Reason) and why.word in rooms


def kept_already(graph: PipelineGraph) -> Change | None:
    """The last cache that a pipeline has, as if it were a change; None where it has none."""
    for stage in reversed(graph.stages):
        if stage.op.startswith("Cache"):
            return Change(CACHE, named(stage), "", "", stages=(stage.name,), keeps=True)
    return None


def filled(
    change: Change,
    graph: PipelineGraph,
    made: PipelineGraph,
    take: Callable[[int], object],
    *,
    batch_ms: float,
    left_s: float,
    within_s: float,
) -> Kept:
    """What it keeps, after a whole pass through that, which keeps all; or why it cannot be kept.

    Arguments:
        change: may keep what a pass makes.
        graph: without it.
        made: with it.
        take: takes so many batches of the changed pipeline.
        batch_ms: milliseconds of a batch without it.
        left_s: seconds for all that is still to be tried.
        within_s: seconds that looking at elements may last.
    """
    if not change.keeps:
        return Kept()
    once = passed_once(graph, change.stages)
    batches = length(soon_filled(once).dataset(), left_s / 4)
    if batches is None or batches * batch_ms / 1e3 > left_s / 2:
        return Kept(WhyNotTried.NO_PASS.of())
    short = soon_filled(made)
    kept = room_for(change, short, look_at=COMPARED, within_s=within_s, left_s=left_s / 4)
    if kept.why_not:
        return kept
    # All is kept once the end has been seen.
    take(batches + 1)
    return kept if change.folder is None else kept_in(change.folder)
