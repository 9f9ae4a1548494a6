"""Whether what a cache would keep has room, and where."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from keras_perf.observers.container.limits import memory_available_mib
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.measuring.own_iterator import OwnIterator
from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph
from keras_perf.trials.rewriting.same_elements import mean_bytes


def length(dataset: tf.data.Dataset, within_s: float) -> int | None:
    """Elements of a pass, counted where the dataset does not tell.

    None where there is no end, or none within these seconds.
    """
    told = int(dataset.cardinality())
    if told != tf.data.UNKNOWN_CARDINALITY:
        return told if told >= 0 else None
    end, found, own = time.perf_counter() + within_s, 0, OwnIterator(dataset)
    try:
        for _ in own.iterator:
            found += 1
            if time.perf_counter() > end:
                return None
    finally:
        own.close()
    return found


def passed_once(graph: PipelineGraph, stages: Sequence[str]) -> PipelineGraph:
    """A copy in which nothing repeats what comes out of the last of these stages."""
    once = graph.copy()
    one = once.constant("count", 1, tf.int64)
    behind = [stage for stage in once.stages if stage.name in stages][-1:]
    while behind:
        for reader in once.readers(behind.pop()):
            behind.append(reader)
            if reader.op == "RepeatDataset":
                reader.input[1] = one
    return once


@dataclass(frozen=True)
class Kept:
    """What a cache would keep.

    Attributes:
        why_not: why it cannot be kept; "" if it can.
        size_mib: what it takes, about; None where nothing is kept.
    """

    why_not: str = ""
    size_mib: float | None = None

    def added_to(self, costs: str) -> str:
        """What a change costs, with how much it holds."""
        if self.size_mib is None:
            return costs
        return Costs.BOTH.of(one=costs, other=Costs.HOLDS.of(size_mib=self.size_mib))


def room_for(
    change: Change, made: PipelineGraph, *, look_at: int, within_s: float, left_s: float
) -> Kept:
    """What a cache takes, or why it has no room. One in a file gets its folder.

    Arguments:
        change: a cache.
        made: the pipeline with it.
        look_at: elements whose mean size is taken.
        within_s: seconds for that.
        left_s: seconds to count the elements, where their number is not told.
    """
    kept = made.until(*change.stages).dataset()
    elements = length(kept, left_s)
    if elements is None:
        return Kept(WhyNotTried.NO_PASS.of())
    size_mib = elements * mean_bytes(kept, look_at, within_s) / 2**20
    if change.folder is None:
        if size_mib > memory_available_mib() / 2:
            return Kept(WhyNotTried.NO_MEMORY.of(size_mib=size_mib))
        return Kept(size_mib=size_mib)
    directory = change.folder.parent
    if size_mib * 2**20 > shutil.disk_usage(directory).free / 2:
        return Kept(WhyNotTried.NO_DISK.of(size_mib=size_mib, directory=str(directory)))
    # On top of other changes other elements may be kept than alone.
    remove([change])
    change.folder.mkdir()
    return Kept(size_mib=size_mib)


def remove(changes: Iterable[Change]) -> None:
    """The folders of those that have one."""
    for change in changes:
        if change.folder is not None:
            shutil.rmtree(change.folder, ignore_errors=True)


def kept_in(folder: Path) -> Kept:
    """What was kept in the files of a folder."""
    return Kept(size_mib=sum(file.stat().st_size for file in folder.glob("*")) / 2**20)
