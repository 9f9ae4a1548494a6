"""How many steps an epoch of `fit` really had, and a step examples."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import keras

from keras_perf.observation.backend import Backend
from keras_perf.observation.facts.model_facts import counts_every_step, optimizer_iterations
from keras_perf.observation.of_fit.calling_fit import Asked
from keras_perf.records.run.inference import EvaluateCalls


class EpochLength:
    """Keras's last execution of an epoch may run fewer steps than `steps_per_execution`.

    Where an epoch ends with the data, and Keras knows their length, that tells. Else the optimizer
    does, if it counts every step: with loss scaling or gradient accumulation it does not. With
    `steps_per_epoch` executions are whole unless data end amid one, as those do that have as many.
    """

    def __init__(self, model: keras.Model, asked: Asked) -> None:
        self._model, self._asked = model, asked
        self._iterations: int | None = None

    def epoch_begins(self) -> None:
        """Before the epoch's first execution."""
        self._iterations = optimizer_iterations(self._model)

    def missing_steps(self, steps: int, steps_per_execution: int) -> int:
        """How many fewer steps the epoch's last execution ran.

        Arguments:
            steps: of the epoch, as if it had run them all.
            steps_per_execution: what all of them are.
        """
        if steps_per_execution == 1:
            return 0
        expected, asked = steps, self._asked
        if asked.whole_executions and not asked.may_run_out:
            return 0
        if asked.epoch_steps is not None and not asked.whole_executions:
            expected = asked.epoch_steps
        elif self._iterations is not None and counts_every_step(self._model.optimizer):
            expected = (optimizer_iterations(self._model) or 0) - self._iterations
        missing = steps - expected
        return missing if 0 < missing < steps_per_execution else 0


class ExamplesPerStep:
    """Keras's loss metric counts those of an epoch, unless a callback evaluates meanwhile.

    `evaluate` begins the count anew, and adds its own examples to it.

    Arguments:
        model: that is trained.
        backend: counts.
        evaluates: calls of `evaluate` in each hook so far, where they begin the count anew.
        told: by the input, where the user's own train step gives the loss metric nothing to count.

    What it cannot see: `test_on_batch` and `reset_metrics` in a hook.
    """

    def __init__(
        self,
        model: keras.Model,
        backend: Backend,
        evaluates: Callable[[], dict[str, EvaluateCalls]],
        told: float | None,
    ) -> None:
        self._told = told
        self._count = partial(backend.examples_per_step, model)
        self._evaluates, self._evaluated = evaluates, 0
        self._known: float | None = None

    def epoch_comes(self) -> None:
        """Before the first hook of an epoch's begin."""
        self._evaluated = self._calls()

    def after(self, steps: int) -> float | None:
        """Of this epoch, which had so many steps so far; of one before if this one is not known."""
        if self._calls() == self._evaluated:
            counted = self._count(steps)
            self._known = self._told if counted is None else counted
        return self._known

    def _calls(self) -> int:
        return sum(each.calls for each in self._evaluates().values())
