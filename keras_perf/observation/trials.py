"""What a training allows for trials of other numbers of steps per execution."""

from __future__ import annotations

from keras_perf.observation.backend import TrainFunction
from keras_perf.observation.listener import Plan
from keras_perf.observers.steps.known_dispatch import KnownDispatch
from keras_perf.observers.steps_trial.steps_choice import Bounds
from keras_perf.observers.steps_trial.steps_to_try import Room
from keras_perf.observers.steps_trial.trial_times import TrialTimes
from keras_perf.records.execution import Kind


class Trials:
    """Asked by whoever tries other numbers of steps per execution.

    Attributes:
        dispatch: what entering and leaving the train function costs, once a trial has told.
    """

    _between = "epochs"
    """What lies between two interruptions."""
    _of_one: str | None = None
    """Why nothing can be tried where each is one execution, if that has a remedy."""

    def __init__(self) -> None:
        self.dispatch: KnownDispatch | None = None

    def reason_not_to_try(self) -> str | None:
        """Why no other number can be tried in this training, or None."""
        raise NotImplementedError

    def room(
        self, times: TrialTimes, present: int, limit: int, max_execution_s: float
    ) -> Room | None:
        """What the training leaves for trials; None while that is not known.

        Arguments:
            times: of executions so far.
            present: steps of an ordinary one.
            limit: the user's own bound on a length.
            max_execution_s: no execution is to be longer.
        """
        ordinary_ms, steps = times.ordinary_ms, self._steps_between
        if ordinary_ms is None or steps is None:
            return None
        return Room(
            present=present,
            step_ms=ordinary_ms / present,
            first_s=times.first_ns / 1e9,
            epoch_steps=steps,
            steps_left=self._steps_left,
            limit=limit,
            max_execution_s=max_execution_s,
            epochs=self._between,
            of_one=self._of_one,
        )

    @property
    def _steps_between(self) -> int | None:
        """Steps from one interruption to the next, as far as they are known."""
        raise NotImplementedError

    @property
    def _steps_left(self) -> int:
        """Steps until training ends."""
        raise NotImplementedError

    def bounds(self, limit: int, max_execution_s: float) -> Bounds:
        """What limits the number of steps per execution, beside the user's own bounds."""
        raise NotImplementedError

    def called_less_often(self) -> list[str]:
        """The user's host work that more steps per execution would do less often."""
        raise NotImplementedError

    def at_most(self, steps: int) -> int:
        """How many of so many steps the next executions can run without an interruption."""
        raise NotImplementedError

    def refuses(self) -> str | None:
        """Makes ready for longer executions; why that cannot be, or None."""
        raise NotImplementedError

    def longer(self, plan: Plan, steps: int, kind: Kind) -> Plan:
        """The plan for so many steps, which are ready."""
        return plan._replace(steps=steps, kind=kind)

    @property
    def extra_traces(self) -> int:
        """What was traced for trials."""
        return 0

    @property
    def tracing_s(self) -> float:
        """Seconds that took."""
        return 0.0


class TrialsInFit(Trials):
    """Told by the observation of a `fit` what may matter to trials."""

    def runs(self, function: TrainFunction) -> None:
        """The model's train function is this one."""

    def hooks_change(self) -> None:
        """A callback has got a batch hook since training began, or lost one."""

    def epoch_ended(self, steps: int) -> None:
        """An epoch had so many steps."""
