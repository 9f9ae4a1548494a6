"""A program as somebody writes it who knows what is slow in it: the best of a few ways."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import tensorflow as tf
from followed_programs.input_pieces import noisy, slowly_noisy
from followed_programs.program import Program, Stage
from followed_programs.published_input import flipped, mixed, with_noise

from trying.in_turn import Trained, in_fit

RANDOM = (noisy, slowly_noisy, flipped, mixed, with_noise)
"""Functions of maps that draw anew in each pass, which no cache may keep."""

IN_THREADS = {"num_parallel_calls": tf.data.AUTOTUNE}
WIDE = {"threading.private_threadpool_size": 16}
SEVERAL, LONGEST_MS = 32, 100.0
"""So many steps per execution, or as many as take so long."""

ROUNDS = 3
WORTHWHILE = 1.02
"""Less is noise: it stays as it was."""


@dataclass(frozen=True)
class Mended:
    """One way to write the program; weights, elements and their order stay as they are.

    Attributes:
        how: what was changed, in words.
        step_ms: of its steps in `fit`, where that was measured.
    """

    how: str
    program: Program
    step_ms: float = 0.0


def best_mended(program: Program) -> tuple[Mended, Trained]:
    """The way whose steps are fastest in `fit`: the best input first, then how it is compiled.

    Each is trained beside the best one so far, a few rounds of each in turn.
    """
    trained = Trained(program, program.dataset())
    best = Mended("as it is", program, trained.step_ms(trained.steps))
    for ways in (inputs, _compiled, _collected):
        for way in list(ways(best)):
            other = Trained(way.program, way.program.dataset())
            before, after = map(median, in_fit(trained, other, rounds=ROUNDS))
            if before / after >= WORTHWHILE:
                best, trained = replace(way, step_ms=after), other
    return best, trained


def inputs(best: Mended) -> Iterator[Mended]:
    """In several threads, whole batches at once, and with what is the same in each pass kept."""
    program = best.program
    parallel = _of_whole_batches([_in_threads(stage) for stage in program.stages])
    options = {**program.options, **WIDE}
    for how, stages in (("in parallel", parallel), ("kept", kept(parallel))):
        ending = (*stages, Stage("prefetch", tf.data.AUTOTUNE))
        yield Mended(how, replace(program, stages=ending, options=options))


def _in_threads(stage: Stage) -> Stage:
    """But not what draws: other threads would draw other numbers for an element."""
    if stage.kind == "flat_map":
        return replace(stage, kind="interleave", more={**stage.more, **IN_THREADS})
    if stage.kind == "map" and stage.argument not in RANDOM:
        return replace(stage, more={**stage.more, **IN_THREADS})
    return stage


def _of_whole_batches(stages: list[Stage]) -> list[Stage]:
    """Maps right before the batch go behind it, where it is known how to write them."""
    changed = list(stages)
    for place in reversed(range(len(changed) - 1)):
        stage = changed[place]
        if stage.of_batches is not None and changed[place + 1].kind == "batch":
            changed[place : place + 2] = [
                changed[place + 1],
                replace(stage, argument=stage.of_batches),
            ]
    return changed


def kept(stages: list[Stage]) -> list[Stage]:
    """A cache behind the last work that is the same in each pass, shuffles and repeats after it.

    Maps pass a shuffle, whose order does not depend on what it holds; batches do not.
    """
    before: list[Stage] = []
    mixing: list[Stage] = []
    for place, stage in enumerate(stages):
        if stage.kind == "map" and stage.argument not in RANDOM:
            before.append(stage)
        elif stage.kind in ("shuffle", "repeat"):
            mixing.append(stage)
        elif mixing or (stage.kind == "map" and stage.argument in RANDOM):
            return [*before, Stage("cache"), *mixing, *stages[place:]]
        elif stage.kind not in ("prefetch", "cache"):
            before.append(stage)
    return [*before, Stage("cache"), *mixing]


def _compiled(best: Mended) -> Iterator[Mended]:
    """Never run eagerly; several steps in one execution, XLA the other way, and both."""
    program = best.program
    number = int(max(1, min(SEVERAL, LONGEST_MS / best.step_ms)))
    several = {"steps_per_execution": number}
    xla = {"jit_compile": not program.made().jit_compile}
    for arguments in ({}, several, xla, several | xla):
        compiled = {**program.compiled, "run_eagerly": False, **arguments}
        changed = {key: value for key, value in compiled.items() if _had(program, key) != value}
        if changed:
            told = ", ".join(f"{key}={value}" for key, value in changed.items())
            yield Mended(f"{best.how}, {told}", replace(program, compiled=compiled))


def _had(program: Program, argument: str) -> Any:
    """What it is compiled with; `compile` has these where nothing is said."""
    usual = {"run_eagerly": False, "steps_per_execution": 1, "jit_compile": False}
    return program.compiled.get(argument, usual.get(argument))


def _collected(best: Mended) -> Iterator[Mended]:
    """Garbage searched for rarely."""
    if not best.program.tuned_gc:
        yield Mended(f"{best.how}, garbage rarely", replace(best.program, tuned_gc=True))
