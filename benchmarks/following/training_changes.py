"""What advice on compiling, callbacks and validation changes in a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf
from followed_programs.program import Program, Stage, Work


def _compiled(program: Program, **arguments: Any) -> Program:
    return replace(program, compiled={**program.compiled, **arguments})


def _several_steps(program: Program, advice: Any) -> Program:
    return _compiled(program, steps_per_execution=int(advice.evidence["advised"]))


def _in_a_graph(program: Program, advice: Any) -> Program:
    return _compiled(program, run_eagerly=False)


def _in_float32(program: Program, advice: Any) -> Program:
    return replace(program, policy="float32")


def _work_of(program: Program, advice: Any, change: Callable[[Work], Work]) -> Program | None:
    """With that of its callbacks changed which the advice names."""
    name = advice.evidence["owner"].partition(".")[0]
    works = tuple(change(work) if work.owner == name else work for work in program.works)
    return replace(program, works=works) if works != program.works else None


def _rarer(program: Program, advice: Any) -> Program | None:
    every = int(advice.evidence["advised"])
    return _work_of(program, advice, lambda work: replace(work, every=every))


def _called_directly(program: Program, advice: Any) -> Program | None:
    return _work_of(program, advice, lambda work: replace(work, make=work.directly or work.make))


def _rarer_validation(program: Program, advice: Any) -> Program:
    if "validation_freq" in advice.action:
        every = int(advice.evidence["advised"])
        return replace(program, fit={**program.fit, "validation_freq": every})
    batches = int(advice.evidence["batches"]) // 5
    if "take" in advice.action:
        cached = [Stage("cache")] if ".cache()" in advice.action else []
        stages = (*program.validates, Stage("take", batches), *cached)
        return replace(program, validates=stages)
    return replace(program, fit={**program.fit, "validation_steps": batches})


def _faster_validation(program: Program, advice: Any) -> Program:
    """The cache stands behind the last map: what is the same in every pass ends there."""
    changes, validates = advice.evidence["changes"], list(program.validates)
    if "cache" in changes:
        maps = [place for place, stage in enumerate(validates) if stage.kind == "map"]
        validates.insert(maps[-1] + 1 if maps else 0, Stage("cache"))
    threads = program.validation_threads or "parallel-map" in changes
    return replace(program, validates=tuple(validates), validation_threads=threads)


def _untuned_validation(program: Program, advice: Any) -> Program:
    return replace(program, validation_untuned=True)


def _larger_validation_batches(program: Program, advice: Any) -> Program | None:
    if not any(stage.kind == "batch" for stage in program.stages):
        return None
    larger = round(advice.evidence["advised"] / advice.evidence["present"])
    return replace(program, validation_batch=program.validation_batch * larger)


def _one_shape(program: Program, advice: Any) -> Program | None:
    """A train function is kept, sequences share few lengths, or no batch is partial."""
    if advice.evidence["function_replacements"]:
        kept = tuple(work for work in program.works if not work.rebuilds)
        return replace(program, works=kept) if kept != program.works else None
    if "bucket" in advice.action:
        without_xla = _compiled(program, jit_compile=False)
        # What stands first is predicted to gain most.
        if advice.action.startswith("model.compile"):
            return without_xla
        return _few_lengths(program) or without_xla
    changed = tuple(
        replace(stage, more={**stage.more, "drop_remainder": True})
        if stage.kind == "batch"
        else stage
        for stage in program.stages
    )
    return replace(program, stages=changed) if changed != program.stages else None


def _few_lengths(program: Program) -> Program | None:
    """Batches of about one length each, padded to it; None where batches come as they are."""
    changed = tuple(
        _buckets(stage, program.lengths) if stage.kind == "padded_batch" else stage
        for stage in program.stages
    )
    return replace(program, stages=changed) if changed != program.stages else None


def _buckets(stage: Stage, lengths: tuple[int, ...]) -> Stage:
    # Each boundary is the first length of the next bucket, and none is beyond the last.
    more = {
        "bucket_boundaries": [length + 1 for length in lengths],
        "bucket_batch_sizes": [stage.argument] * (len(lengths) + 1),
        "pad_to_bucket_boundary": True,
        "drop_remainder": True,
    }
    return Stage("bucket_by_sequence_length", lambda x, y: tf.shape(x)[0], more)


def _one_iterator(program: Program, advice: Any) -> Program:
    steps = int(advice.action.partition("steps_per_epoch=")[2].partition(")")[0])
    stages = (*program.stages, Stage("repeat"), Stage("prefetch", tf.data.AUTOTUNE))
    return replace(program, stages=stages, fit={**program.fit, "steps_per_epoch": steps})


def _longer_epochs(program: Program, advice: Any) -> Program | None:
    """Of a dataset; a `PyDataset` is left to a person."""
    if "steps_per_epoch" not in advice.action:
        return None
    steps, stages = int(advice.evidence["advised"]), program.stages
    if "repeat" in advice.action:
        stages = (*stages, Stage("repeat"), Stage("prefetch", tf.data.AUTOTUNE))
    epochs = -(-program.fit["epochs"] * int(advice.evidence["present"]) // steps)
    fit = {**program.fit, "steps_per_epoch": steps, "epochs": epochs}
    return replace(program, stages=stages, fit=fit)


def _collects_rarely(program: Program, advice: Any) -> Program:
    return replace(program, tuned_gc=True)


Change = Callable[[Program, Any], Program | None]

TRAINING_CHANGES: Mapping[str, Change] = {
    "amortize-callback": _rarer,
    "call-the-model": _called_directly,
    "raise-steps-per-execution": _several_steps,
    "stable-shapes": _one_shape,
    "disable-run-eagerly": _in_a_graph,
    "full-precision": _in_float32,
    "rarer-validation": _rarer_validation,
    "faster-validation": _faster_validation,
    "validation-without-autotune": _untuned_validation,
    "larger-validation-batches": _larger_validation_batches,
    "one-iterator": _one_iterator,
    "longer-epochs": _longer_epochs,
    "tune-gc": _collects_rarely,
}
"""By the advice's id."""
