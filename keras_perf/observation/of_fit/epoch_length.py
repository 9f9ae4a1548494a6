"""How many steps an epoch of `fit` really had."""

from __future__ import annotations

import keras

from keras_perf.observation.facts.model_facts import counts_every_step, optimizer_iterations
from keras_perf.observation.of_fit.calling_fit import Asked


class EpochLength:
    """Keras's last execution of an epoch may run fewer steps than `steps_per_execution`.

    Where Keras knows the length of the data, that tells. Else the optimizer does, if it counts
    every step: with loss scaling or gradient accumulation it does not.
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
        if asked.epoch_steps is not None:
            expected = steps if asked.whole_executions else asked.epoch_steps
        elif self._iterations is not None and counts_every_step(self._model.optimizer):
            expected = (optimizer_iterations(self._model) or 0) - self._iterations
        missing = steps - expected
        return missing if 0 < missing < steps_per_execution else 0
