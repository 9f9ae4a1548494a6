"""What advice on the input changes in a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf
from followed_programs.program import Program, Stage

UNNAMED = "your_lambda", "your_function"
"""What code to paste calls a lambda, and a function that is not known."""

IN_THREADS = {"num_parallel_calls": tf.data.AUTOTUNE}


def _options(program: Program, **options: Any) -> Program:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return replace(program, options={**program.options, **named})


def _with(program: Program, stages: list[Stage] | tuple[Stage, ...]) -> Program:
    return replace(program, stages=tuple(stages))


def _places(program: Program, kind: str) -> list[int]:
    return [place for place, stage in enumerate(program.stages) if stage.kind == kind]


def _map_of(program: Program, stage: str, stages: list[str]) -> int | None:
    """Where in the program the map stands that runs as this stage.

    Maps within the datasets that an interleave reads run before it, and are none of the program's.
    """
    within = [place for place, name in enumerate(stages) if "FlatMap" in name or "Interl" in name]
    running = [name for name in stages[max(within, default=-1) + 1 :] if "Map" in name]
    maps = _places(program, "map")
    return maps[running.index(stage)] if stage in running and len(running) == len(maps) else None


def _called(function: Any) -> str:
    return str(getattr(function, "__name__", ""))


def _prefetched(program: Program, advice: Any, stages: list[str]) -> Program:
    return _with(program, (*program.stages, Stage("prefetch", tf.data.AUTOTUNE)))


def _wider_pool(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """And more calls of the map, where the action has that first of all."""
    wider = _options(program, threading__private_threadpool_size=int(advice.evidence["advised"]))
    if "first of all" in advice.action:
        return _in_parallel(wider, advice, stages)
    return wider


def _in_parallel(program: Program, advice: Any, stages: list[str]) -> Program | None:
    place = _map_of(program, advice.evidence["stage"], stages)
    if place is None:
        return None
    changed = list(program.stages)
    changed[place] = replace(changed[place], more=IN_THREADS)
    return _with(program, changed)


def _unordered(program: Program, advice: Any, stages: list[str]) -> Program:
    return _options(program, deterministic=False)


def _cache(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """Behind the stage that the action names, which goes before shuffles and repeats."""
    if advice.action.startswith("dataset = dataset.cache()"):
        return _with(program, (*program.stages, Stage("cache")))
    found = re.search(r"^dataset = dataset\.(\w+)\((\w+)", advice.action, re.M)
    if found is None:
        return None
    kind, named = found.groups()
    places = _places(program, kind)
    called = [place for place in places if _called(program.stages[place].argument) == named]
    if not places or not (called or named in UNNAMED):
        return None
    place = (called or places)[-1]
    before, after = program.stages[: place + 1], program.stages[place + 1 :]
    mixing = tuple(stage for stage in before if stage.kind in ("shuffle", "repeat"))
    kept = tuple(stage for stage in before if stage not in mixing)
    return _with(program, (*kept, Stage("cache"), *mixing, *after))


def _batch_first(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """Where it is known how the map's function is written for batches."""
    place = _map_of(program, advice.evidence["stage"], stages)
    batches = _places(program, "batch")
    if place is None or not batches or batches[0] < place:
        return None
    changed = list(program.stages)
    moved = changed.pop(place)
    if moved.of_batches is None:
        return None
    # The place behind the batch, which has moved up by one.
    changed.insert(batches[0], replace(moved, argument=moved.of_batches, more=IN_THREADS))
    return _with(program, changed)


def _in_processes(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """In place of the whole pipeline."""
    if program.in_processes is None:
        return None
    source = program.in_processes(int(advice.evidence["advised"]))
    return replace(program, source=source, stages=(), options={})


def _interleaved(program: Program, advice: Any, stages: list[str]) -> Program | None:
    changed = [
        replace(stage, kind="interleave", more=IN_THREADS) if stage.kind == "flat_map" else stage
        for stage in program.stages
    ]
    return _with(program, changed) if tuple(changed) != program.stages else None


def _cheaper_shuffle(program: Program, advice: Any, stages: list[str]) -> Program | None:
    """Before the maps that stand before it, or repeated, as the action says."""
    shuffles = _places(program, "shuffle")
    if not shuffles:
        return None
    place, changed = shuffles[-1], list(program.stages)
    if advice.evidence["moved"]:
        first = place
        while first and changed[first - 1].kind == "map":
            first -= 1
        changed.insert(first, changed.pop(place))
        return _with(program, changed)
    changed.insert(place + 1, Stage("repeat"))
    steps = re.search(r"steps_per_epoch=(\d+)", advice.action)
    if steps is None:
        return None
    fit = {**program.fit, "steps_per_epoch": int(steps[1])}
    return replace(_with(program, changed), fit=fit)


Change = Callable[[Program, Any, list[str]], Program | None]

INPUT_CHANGES: Mapping[str, Change] = {
    "prefetch": _prefetched,
    "parallel-map": _in_parallel,
    "cache": _cache,
    "private-threadpool": _wider_pool,
    "nondeterministic-order": _unordered,
    "batch-before-map": _batch_first,
    "interleave": _interleaved,
    "parallel-input": _in_processes,
    "cheaper-shuffle": _cheaper_shuffle,
}
"""By the advice's id; each is given the names of the running stages, from the source on."""
