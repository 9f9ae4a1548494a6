"""What can be changed in a training by a machine."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import keras

from keras_perf.records.advice_ids import (
    AMORTIZE_CALLBACK,
    DISABLE_RUN_EAGERLY,
    DISABLE_XLA,
    ENABLE_XLA,
    FULL_PRECISION,
    LARGER_BATCH,
    MIXED_PRECISION,
    RAISE_STEPS_PER_EXECUTION,
    STABLE_SHAPES,
    TUNE_GC,
)
from keras_perf.records.reasons.price import Alters, Costs
from keras_perf.records.reasons.why_not_tried import WhyNotTried
from keras_perf.records.text.compiled_with import compiled_by
from keras_perf.trials.backends.chosen import training_backend
from keras_perf.trials.rewriting.array_batches import ArrayBatches
from keras_perf.trials.rewriting.changes import NotDone
from keras_perf.trials.training.batches.batch_rows import rows_of, why_no_room
from keras_perf.trials.training.batches.padding import padded, some_axis_varies
from keras_perf.trials.training.precision import in_precision, other_policy, why_no_other_policy
from keras_perf.trials.training.setup import Setup
from keras_perf.trials.training.training_change import TrainingChange

LONGEST_S, MOST_CALLS = 0.25, 32
"""An execution on trial lasts no longer, and is of no more calls."""

EXECUTION_MS = 2.0
"""What an execution costs beside its steps is hardly more."""

LARGER = 4
"""So many times as many rows are tried."""


Found = Iterator[TrainingChange | NotDone]


def of_training(setup: Setup, step_ms: float) -> list[TrainingChange | NotDone]:
    """All but those of the input, in the order in which they are tried, and what is not.

    Arguments:
        setup: the training as it is.
        step_ms: milliseconds of its step.
    """
    several, xla = _several_steps(setup, step_ms), _xla(setup)
    # Of long steps several in one execution gain little.
    first = (several, xla) if step_ms < 2 * EXECUTION_MS else (xla, several)
    ways = (_shapes, _callbacks, _collector, _precision, _larger_batch)
    return [*_eager(setup), *chain(*first), *chain.from_iterable(way(setup) for way in ways)]


def at_this_speed(
    changes: Sequence[TrainingChange], setup: Setup, step_ms: float
) -> list[TrainingChange]:
    """The same changes, and as many steps per execution as a step of this length asks for.

    Arguments:
        changes: made for a step of another length.
        setup: what they are made on now.
        step_ms: milliseconds of its step.
    """
    several = (each for each in _several_steps(setup, step_ms) if not isinstance(each, NotDone))
    return [*several, *(change for change in changes if change.id != RAISE_STEPS_PER_EXECUTION)]


def _eager(setup: Setup) -> Iterator[TrainingChange]:
    if setup.run_eagerly:
        backend = training_backend()
        compiles = backend.compiles_instead(setup.jit_compile)
        code = compiled_by(setup.model.compile, run_eagerly=False, jit_compile=compiles)
        if backend.runs_eagerly():
            of_all = "tf.config.run_functions_eagerly(False)"
            code = f"{of_all}; {code}" if setup.model.run_eagerly else of_all
        yield TrainingChange(
            DISABLE_RUN_EAGERLY,
            "compile",
            code,
            lambda now: replace(now, run_eagerly=False, jit_compile=compiles),
            costs=Costs.TRACED_ONCE.of(),
            traces=True,
            jit_compile=compiles if compiles != setup.jit_compile else None,
        )


def _callbacks(setup: Setup) -> Iterator[TrainingChange]:
    for callback in setup.callbacks:
        name = type(callback).__name__
        yield TrainingChange(
            AMORTIZE_CALLBACK,
            name,
            f"model.fit(..., callbacks=[...])  # without {name}",
            _without(callback),
            alters=Alters.WITHOUT.of(callback=name),
            of_hooks=True,
        )


def _without(callback: keras.callbacks.Callback) -> Callable[[Setup], Setup]:
    def made(setup: Setup) -> Setup:
        left = tuple(each for each in setup.callbacks if each is not callback)
        return replace(setup, callbacks=left)

    return made


def _shapes(setup: Setup) -> Iterator[TrainingChange]:
    """XLA compiles for each length of a batch."""
    if setup.jit_compile and not setup.run_eagerly and some_axis_varies(setup.graph.element_spec):
        yield TrainingChange(
            STABLE_SHAPES,
            "lengths",
            "dataset.padded_batch(batch_size, padded_shapes=...)  # to few lengths",
            lambda now: replace(now, behind=(*now.behind, padded)),
            costs=Costs.PADDING.of(),
            alters=Alters.PADDED.of(),
            new_shapes=True,
        )


def _xla(setup: Setup) -> Iterator[TrainingChange]:
    if setup.run_eagerly:
        return
    wanted = not setup.jit_compile
    yield TrainingChange(
        ENABLE_XLA if wanted else DISABLE_XLA,
        "compile",
        compiled_by(setup.model.compile, jit_compile=wanted),
        lambda now: replace(now, jit_compile=wanted),
        costs=Costs.COMPILING.of() if wanted else "",
        traces=True,
        jit_compile=wanted,
    )


def _collector(setup: Setup) -> Found:
    if gc.get_freeze_count():
        yield NotDone(TUNE_GC, "Python", WhyNotTried.FROZEN_ALREADY.of())
        return
    yield TrainingChange(
        TUNE_GC,
        "Python",
        "gc.collect(); gc.freeze(); gc.set_threshold(100_000, 50, 100)",
        lambda now: replace(now, collector_rests=True),
        costs=Costs.CIRCLES.of(),
    )


def _larger_batch(setup: Setup) -> Found:
    rows = rows_of(setup.graph)
    if rows is None:
        yield NotDone(LARGER_BATCH, "batch", WhyNotTried.BATCH_SIZE_UNKNOWN.of())
        return
    batches = setup.graph.batches
    if batches is not None and batches < LARGER:
        yield NotDone(LARGER_BATCH, "batch", WhyNotTried.FEW_BATCHES.of(batches=batches))
        return
    larger, of_arrays = LARGER * rows, isinstance(setup.graph, ArrayBatches)
    if why := why_no_room(larger, LARGER):
        yield NotDone(LARGER_BATCH, "batch", why)
        return
    yield TrainingChange(
        LARGER_BATCH,
        "batch",
        f"model.fit(..., batch_size={larger})" if of_arrays else f"dataset.batch({larger})",
        lambda now: replace(
            now, behind=(*now.behind, lambda data: data.repeat().rebatch(larger)), rows=LARGER
        ),
        costs=Costs.MEMORY.of(),
        number=larger,
        alters=Alters.FEWER_UPDATES.of(),
        new_shapes=True,
    )


def _precision(setup: Setup) -> Found:
    policy = other_policy(setup.model)
    if policy is None:
        yield NotDone(MIXED_PRECISION, "policy", why_no_other_policy(setup.model))
        return
    yield TrainingChange(
        MIXED_PRECISION if policy.startswith("mixed") else FULL_PRECISION,
        "policy",
        f'keras.mixed_precision.set_global_policy("{policy}")  # before the model is built',
        lambda now: replace(now, model=in_precision(now.model, policy)),
        alters=Alters.PRECISION.of(),
        traces=True,
    )


def _several_steps(setup: Setup, step_ms: float) -> Found:
    present = setup.model.steps_per_execution
    calls = setup.whole_calls(min(MOST_CALLS, 1e3 * LONGEST_S / step_ms / present))
    if calls < 2 or setup.run_eagerly:
        return
    if why := training_backend().why_no_several_steps():
        yield NotDone(RAISE_STEPS_PER_EXECUTION, "compile", why)
        return
    number = calls * present
    yield TrainingChange(
        RAISE_STEPS_PER_EXECUTION,
        "compile",
        compiled_by(setup.model.compile, steps_per_execution=number),
        lambda now: replace(now, calls=calls),
        costs=Costs.RARER_HOOKS.of(number=number),
        number=number,
        traces=True,
    )
