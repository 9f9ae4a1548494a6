"""What a `fit` allows for trials of other numbers of steps per execution."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from keras_perf.observation.listener import Plan
from keras_perf.observation.observation import Observation
from keras_perf.observation.of_fit.calling_fit import Asked
from keras_perf.observation.of_fit.trial_conditions import (
    BatchHooks,
    called_less_often,
    reason_not_to_try,
)
from keras_perf.observation.trials import TrialsInFit
from keras_perf.observers.steps_trial.steps_choice import Bounds
from keras_perf.records.execution import Kind
from keras_perf.records.reasons.why_no_steps import WhyNoSteps
from keras_perf.trials.train_functions.on_replicas import differs_on_replicas
from keras_perf.trials.train_functions.repeated_function import RepeatedFunction
from keras_perf.trials.train_functions.train_function import TrainFunction


class TrialsOfFit(TrialsInFit):
    """Steps of several of Keras's calls are run in one, ahead of the calls.

    Arguments:
        fit: the observation of the `fit`.
        asked: what the `fit` was asked to do.
        hooks: tells every callback with a batch hook of its own, with `Class.hook`.
    """

    def __init__(self, fit: Observation, asked: Asked, hooks: Callable[[], BatchHooks]) -> None:
        super().__init__()
        self._fit, self._asked, self._hooks = fit, asked, hooks
        self._hooks_have_changed = False
        self._epoch_steps: int | None = None
        self._epochs_differ = False
        self._function: TrainFunction | None = None
        self._repeated: RepeatedFunction | None = None
        self._on_replicas: tuple[Any, str | None] = None, None
        self._tracing_s = 0.0
        self._has_run: tuple[Any, int] | None = None

    # -- what the observation tells ------------------------------------------------------

    def runs(self, function: TrainFunction) -> None:
        """The model's train function is this one."""
        self._function, self._repeated, self._has_run = function, None, None

    def hooks_change(self) -> None:
        """A callback has got a batch hook since training began, or lost one."""
        self._hooks_have_changed = True

    def epoch_ended(self, steps: int) -> None:
        """An epoch had so many steps: unless all have as many, no longer execution is safe."""
        self._epochs_differ |= self._epoch_steps not in (None, steps)
        self._epoch_steps = steps

    # -- what the recommender asks -------------------------------------------------------

    def reason_not_to_try(self) -> str | None:
        """Why no other number of steps per execution can be tried in this `fit`, or None."""
        asked = self._asked
        if not asked.by_keras:
            return WhyNoSteps.CALLED_BY_OTHERS.of()
        return reason_not_to_try(
            self._fit.model, self._hooks(), asked.epoch_steps, may_run_out=asked.may_run_out
        )

    @property
    def _steps_between(self) -> int | None:
        """Steps of an epoch, as far as they are known."""
        return self._fit.epoch_steps

    @property
    def _steps_left(self) -> int:
        """Steps until `fit` ends, by the length of an epoch."""
        fit = self._fit
        in_all = (fit.epochs or 1) * (fit.epoch_steps or 0)
        return max(0, in_all - (fit.step - fit.first_step))

    def bounds(self, limit: int, max_execution_s: float) -> Bounds:
        """What limits the number of steps per execution, beside the user's own bounds."""
        whole_executions = self._asked.whole_executions
        return Bounds(limit, max_execution_s, self._fit.epoch_steps, whole_executions)

    def called_less_often(self) -> list[str]:
        """The user's batch hooks (`Class.hook`) that more steps per execution would call less."""
        return called_less_often(self._hooks())

    def at_most(self, steps: int) -> int:
        """All of them, if so many are left in the epoch and it is not being stopped; else none."""
        fit = self._fit
        if fit.model.stop_training or self._epochs_differ:
            return 0
        # An epoch's last batch may be smaller, for which a step on a batch is traced anew.
        last = self._repeated is not None and self._repeated.ends_early
        return steps if fit.batch + steps <= (fit.epoch_steps or 0) - last else 0

    def refuses(self) -> str | None:
        """Looks up what a call with this iterator runs, and puts a loop around it."""
        assert self._fit.pipeline is not None
        assert self._function is not None
        if tf.config.functions_run_eagerly():
            return WhyNoSteps.EAGER_FUNCTIONS.of()
        if self._hooks_have_changed:
            self._hooks_have_changed = False
            if (reason := self.reason_not_to_try()) is not None:
                return reason
        begin = self._fit.now()
        try:
            repeated = self._repeated = self._repeated or RepeatedFunction(self._function)
            repeated.prepare(self._fit.pipeline.iterator)
            return repeated.differs or self._differs_on_replicas(repeated)
        except Exception as error:  # noqa: BLE001  monitoring never kills training
            return WhyNoSteps.CANNOT_BE_REPEATED.of(error=repr(error))
        finally:
            self._tracing_s += (self._fit.now() - begin) / 1e9

    def _differs_on_replicas(self, repeated: RepeatedFunction) -> str | None:
        """Compared before the first trial, for each trace once."""
        strategy = self._fit.model.distribute_strategy
        if strategy.num_replicas_in_sync == 1:
            return None
        if self._on_replicas[0] != repeated.step:
            assert self._fit.pipeline is not None
            found = differs_on_replicas(strategy, repeated, self._fit.pipeline.iterator)
            self._on_replicas = repeated.step, found
        return self._on_replicas[1]

    def longer(self, plan: Plan, steps: int, kind: Kind) -> Plan:
        """Keras's next calls are answered for the steps that run ahead of them."""
        assert self._repeated is not None
        calls = steps // plan.steps
        function = partial(self._run, self._repeated, calls)
        return plan._replace(function=function, steps=steps, kind=kind, calls=calls)

    def _run(self, repeated: RepeatedFunction, calls: int, iterator: Any) -> Any:
        if (made := (repeated.step, repeated.traces)) != self._has_run:
            self._has_run = made
            self._fit.timeline.made_ready()
        logs = repeated.run(iterator, calls)
        if repeated.differs is not None:
            # It has met a batch that Keras traces for: its time tells nothing of so many steps.
            self._fit.timeline.retag(Kind.TRACED)
        return logs

    @property
    def extra_traces(self) -> int:
        """Loops around the train function that were traced for trials."""
        return 0 if self._repeated is None else self._repeated.traces

    @property
    def tracing_s(self) -> float:
        """Seconds that took."""
        return self._tracing_s
