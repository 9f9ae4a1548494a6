"""One change of a training, which trials make and take back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from keras_perf.trials.rewriting.changes import Change
from keras_perf.trials.training.setup import Setup


@dataclass(frozen=True)
class TrainingChange:
    """One change of a training.

    Attributes:
        id: as the recommendation of the same kind is called.
        where: the part of the program that it is about.
        code: how one would write it.
        made: another setup, with the change.
        costs: what it takes beside time.
        number: what is set in it, where that is a number.
        alters: what of the training it alters; "" where weights stay as they would be.
        rewriting: of the pipeline, whose elements are looked at first.
        traces: the train function is made anew.
        new_shapes: for other batches XLA compiles it anew.
        jit_compile: what it sets; None if it leaves it.
        of_hooks: it shows only where callbacks are called.
    """

    id: str
    where: str
    code: str
    made: Callable[[Setup], Setup]
    costs: str = ""
    number: int | None = None
    alters: str = ""
    rewriting: Change | None = None
    traces: bool = False
    new_shapes: bool = False
    jit_compile: bool | None = None
    of_hooks: bool = False


def of_pipeline(change: Change) -> TrainingChange:
    """A rewriting of the input as a change of the training."""

    def made(setup: Setup) -> Setup:
        options = (*setup.options, change.options) if change.options else setup.options
        return replace(setup, graph=change.made(setup.graph), options=options)

    code = f"dataset.{change.code}" if change.apply else change.code
    return TrainingChange(change.id, change.where, code, made, costs=change.costs, rewriting=change)
