"""What a training step on JAX multiplies, from what was traced of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax

from keras_perf.backends.jax_batches import Batches
from keras_perf.backends.jax_facts import devices_of_mesh
from keras_perf.backends.jax_flops import counted
from keras_perf.backends.jax_steps import StandIn
from keras_perf.observation.facts.flops.counted import Counted, NotCountedError
from keras_perf.records.run.step_work import NotCounted, StepWork

MOST_COUNTED = 8
"""Of batches of more shapes than that the multiplications are not counted."""


class JaxWork:
    """Asked each time that facts are written, it counts once, when training has ended.

    Arguments:
        stand_in: knows what was called, and with what.

    Attributes:
        due: training has ended.
        several: the train function was made anew; how often each ran is not known.
    """

    def __init__(self, stand_in: StandIn) -> None:
        self.due = self.several = False
        self._stand_in = stand_in
        self._found: StepWork | None = None

    def was_fed(self, pipeline: Any) -> None:
        """The stand-in has seen each batch."""

    def asked(self, function: Any, **how: Any) -> StepWork | None:
        """What a step multiplies; None before the end."""
        if self.due and self._found is None:
            self._found = self._counted(devices_of_mesh())
        return self._found

    def _counted(self, devices: int) -> StepWork:
        if self.several:
            return StepWork(not_counted=NotCounted.TRACES)
        jitted = compiled_step(self._stand_in.function)
        if jitted is None:
            return StepWork(not_counted=NotCounted.EAGER)
        try:
            mean = _mean(jitted, self._stand_in.state, self._stand_in.batches)
        except NotCountedError as error:
            return StepWork(not_counted=error.why)
        return StepWork(
            {kind: flops / devices for kind, flops in mean.flops.items() if flops},
            mean.bytes / devices,
            tuple(sorted(mean.passed_over)),
        )


def compiled_step(function: Any) -> Callable[..., Any] | None:
    """What JAX compiles of a step of Keras's train function.

    Keras holds it nowhere else than in its train function, by this name. None where there is no
    such, as in a train function that runs eagerly, or of another version.
    """
    if not inspect.isfunction(function):
        return None
    found = inspect.getclosurevars(function).nonlocals.get("step_function")
    return found if hasattr(found, "trace") and hasattr(found, "lower") else None


def _mean(jitted: Any, state: Any, batches: Batches) -> Counted:
    """Of the batches there were."""
    known = sum(batches.shapes.values())
    unknown = state is None or None in batches.described.values()
    if unknown or not known or known < batches.fetched or len(batches.shapes) > MOST_COUNTED:
        raise NotCountedError(NotCounted.SHAPE)
    mean = Counted()
    for shapes, times in batches.shapes.items():
        mean.add(counted(_traced(jitted, state, batches.described[shapes])), times / known)
    return mean


def _traced(jitted: Any, *arguments: Any) -> Any:
    """What JAX keeps of the training; the user's functions are not run again."""
    try:
        with jax.no_tracing(True):
            return jitted.trace(*arguments).jaxpr
    except RuntimeError as error:
        raise NotCountedError(NotCounted.TRACES) from error
