"""A map that is the same in every pass, moved in front of a shuffle so that a cache can keep it."""

from __future__ import annotations

import itertools
import math

import tensorflow as tf
from tensorflow.core.framework.node_def_pb2 import NodeDef

from keras_perf.records.advice_ids import CACHE
from keras_perf.records.reasons.price import Costs
from keras_perf.records.reasons.reason import Reason
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.trials.rewriting.changes.cache import (
    differs_from_pass_to_pass,
    has_cache,
    keep_behind,
)
from keras_perf.trials.rewriting.changes.change import (
    Change,
    Found,
    NoLongerPossibleError,
    NotDone,
)
from keras_perf.trials.rewriting.changes.stages import is_map, leaves_errors_out, named, present
from keras_perf.trials.rewriting.pipeline_graph import PipelineGraph, specs_of

PASSED = ("ShuffleDataset", "ShuffleAndRepeatDataset", "RepeatDataset", "PrefetchDataset")
"""Stages that hand elements on unseen: which comes next does not depend on what is in it."""


def maps_before_shuffles(graph: PipelineGraph) -> Found:
    """The maps right behind a shuffle (or repeat), in front of it, with a cache behind them."""
    if has_cache(graph) or not graph.is_a_chain:
        return
    for place, first in enumerate(graph.stages):
        if not place or not is_map(first) or not graph.stages[place - 1].op.startswith(PASSED):
            continue
        passed = _passed(graph, place)
        if not _shuffled(passed) and not any(each.op.startswith("Repeat") for each in passed):
            continue
        maps: list[NodeDef] = []
        for stage in graph.stages[place:]:
            why = _reason_against(graph, passed, stage) if is_map(stage) else ""
            if why and not maps:
                yield NotDone(CACHE, f"{named(stage)} behind {named(passed[0])}", why)
            if why or not is_map(stage):
                break
            maps.append(stage)
        before = graph.stages[: place - len(passed)]
        if maps and not any(differs_from_pass_to_pass(graph, each) for each in before):
            yield _change(graph, passed, maps)
        return


def _passed(graph: PipelineGraph, place: int) -> list[NodeDef]:
    """Stages before this place, back to one that looks at elements."""
    first = place
    while first and graph.stages[first - 1].op.startswith(PASSED):
        first -= 1
    return graph.stages[first:place]


def _shuffled(stages: list[NodeDef]) -> bool:
    return any(stage.op.startswith("Shuffle") for stage in stages)


def _reason_against(graph: PipelineGraph, passed: list[NodeDef], stage: NodeDef) -> str:
    if leaves_errors_out(graph):
        return WhyNotTried.ERRORS_MOVED.of()
    if graph.is_random(stage):
        return WhyNotTried.OTHER_RANDOM_NUMBERS.of()
    if graph.runs_python(stage) and _shuffled(passed):
        return WhyNotTried.PYTHON_SEES_ORDER.of()
    return ""


def _change(graph: PipelineGraph, passed: list[NodeDef], maps: list[NodeDef]) -> Change:
    source = graph.source(passed[0])
    back, names = passed[-1].name, [stage.name for stage in maps]
    functions = [stage.attr["f"].func.name for stage in maps]
    before, where = source.name if source is not None else "", ".".join(map(named, maps))
    held, python = _buffers(graph, passed, maps[-1]), any(map(graph.runs_python, maps))
    shuffles = "".join(f".{named(stage)[:-1]}…)" for stage in passed)

    def apply(changed: PipelineGraph) -> None:
        if has_cache(changed):
            raise NoLongerPossibleError("another change put a cache there")
        for name, function in zip(names, functions, strict=True):
            if present(changed, name).attr["f"].func.name != function:
                raise NoLongerPossibleError("another change made it one of batches")
        in_a_row = [before, *(each.name for each in passed), *names]
        for first, second in itertools.pairwise(in_a_row):
            read = changed.source(present(changed, second))
            if read is None or read.name != first:
                raise NoLongerPossibleError(f"another change parted {first} and {second}")
        for name in reversed(names):
            changed.move_behind(name, before).ClearField("experimental_type")
        for each in passed:
            _retype(changed, each.name, names[-1])
        keep_behind(changed, names[-1:])

    def costs(where_kept: Reason) -> Reason:
        of_all = Costs.KEPT_BEFORE_SHUFFLE.of(where=where_kept, held=held)
        return Costs.SAME_EACH_TIME.of(one=of_all) if python else of_all

    return Change(
        CACHE,
        f"{where} before {named(passed[0])[:-1]}…)",
        f"{where}.cache(){shuffles}",
        costs(Costs.IN_MEMORY.of()),
        apply=apply,
        stages=(names[-1],),
        stage_after=back,
        keeps=True,
        costs_kept=costs,
        promise=4,
    )


def _retype(graph: PipelineGraph, name: str, like: str) -> None:
    stage, other = present(graph, name), present(graph, like)
    for attribute in ("output_types", "output_shapes"):
        stage.attr[attribute].CopyFrom(other.attr[attribute])
    stage.ClearField("experimental_type")


def _buffers(graph: PipelineGraph, passed: list[NodeDef], last: NodeDef) -> Reason:
    """What the shuffle holds from then on."""
    held = [graph.value(each.input[1]) for each in passed if each.op.startswith("Shuffle")]
    elements = sum(int(each) for each in held if each is not None)
    bytes_each = element_bytes(last)
    if not held:
        return Costs.NONE_BESIDES.of()
    if bytes_each is None:
        return Costs.SHUFFLE_HOLDS.of(elements=elements)
    size_mib = elements * bytes_each / 2**20
    return Costs.SHUFFLE_HOLDS_SO_MUCH.of(elements=elements, size_mib=size_mib)


def element_bytes(stage: NodeDef) -> int | None:
    """Of an element, if its shape tells; None if it does not."""
    specs = specs_of(stage)
    known = all(s.shape.is_fully_defined() and s.dtype.size for s in specs)
    if not known or any(s.dtype in (tf.string, tf.variant, tf.resource) for s in specs):
        return None
    return sum(int(math.prod(s.shape)) * int(s.dtype.size) for s in specs)
