"""What a custom loop allows for trials of other numbers of steps per call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_perf.observation.observation import Observation
from keras_perf.observation.trials import Trials
from keras_perf.observers.steps_trial.steps_choice import Bounds
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.train_functions.train_function import takes_a_number


class TrialsOfLoop(Trials):
    """The loop runs as many steps in a call as it is told.

    Arguments:
        loop: the observation of the loop.
        function: the `tf.function` that is called, or None.
        steps: optimizer steps in all; None if unknown.
        workers_train: several workers train, which would have to try at the same steps.
        owners: tells whose host work was timed.
        data_left: tells how many steps the iterator has elements for, infinity where not known.
    """

    _between = "stretches without an interruption"
    _of_one = WhyNoSteps.NOTHING_LEFT.of()

    def __init__(
        self,
        loop: Observation,
        function: Any,
        *,
        steps: int | None,
        workers_train: bool,
        owners: Callable[[], list[str]],
        data_left: Callable[[], float],
    ) -> None:
        super().__init__()
        self._loop, self._function, self._steps = loop, function, steps
        self._workers_train, self._owners = workers_train, owners
        self._data_left = data_left
        self._left = 0
        self._longest_left: int | None = None
        self._judged_traces: int | None = None
        self._refusal: str | None = None

    def has_left(self, steps: int) -> None:
        """So many steps may be run before something of the user's is due, or the data end.

        A call that meets the end raises, and runs fewer steps than were to be compared.
        """
        steps = max(1, int(min(steps, self._data_left())))
        self._left = steps
        if self._longest_left is None or steps > self._longest_left:
            self._longest_left = steps

    def reason_not_to_try(self) -> str | None:
        """Why no other number of steps per call can be tried in this loop, or None."""
        if self._workers_train:
            return WhyNoSteps.SEVERAL_WORKERS.of()
        if tf.config.functions_run_eagerly():
            return WhyNoSteps.EAGER_FUNCTIONS.of()
        if self._loop.fetches_per_step < 1:
            return WhyNoSteps.STEPS_IN_AN_ELEMENT.of()
        if self._steps is None:
            return WhyNoSteps.STEPS_NOT_KNOWN.of()
        if self._function is None:
            return WhyNoSteps.FUNCTION_NOT_KNOWN.of()
        return None

    @property
    def _steps_between(self) -> int | None:
        """The most steps that were left until something of the user's was due."""
        return self._longest_left

    @property
    def _steps_left(self) -> int:
        """Steps until training ends."""
        return max(0, (self._steps or 0) - self._loop.step)

    def bounds(self, limit: int, max_execution_s: float) -> Bounds:
        """A call runs any number of steps: none need divide what lies between two events."""
        longest = min(limit, self._longest_left or limit)
        return Bounds(longest, max_execution_s, None, setting="steps_per_call")

    def called_less_often(self) -> list[str]:
        """What `LoopMonitor.host` was told of."""
        return self._owners()

    def at_most(self, steps: int) -> int:
        """As many of them as are left until something of the user's is due, or the data end."""
        return min(steps, self._left)

    def refuses(self) -> str | None:
        """Looks whether another number would trace the loop's function again."""
        if self._judged_traces != self._loop.traces:
            self._judged_traces = self._loop.traces
            if not takes_a_number(self._function):
                self._refusal = WhyNoSteps.TRACED_AGAIN.of()
        return self._refusal
