"""StepsPerExecutionRecommender."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Sequence
from statistics import median
from typing import Any

import keras
import tensorflow as tf

from keras_perf.callbacks.listener import Director, Plan, TrainFunction
from keras_perf.callbacks.listening import ListeningCallback, require_bool, require_number
from keras_perf.callbacks.observation import Observation, optimizer_iterations
from keras_perf.observers.dispatch import (
    StepsPerExecution,
    fit_curve,
    recommend,
    resampled_curves,
)
from keras_perf.records.execution import Execution, Kind

logger = logging.getLogger("keras_perf")

TRIALS = 6
"""Executions of the other length that are measured, after one that traces."""

BETWEEN = 4
"""Ordinary executions before each trial, so that a drifting machine drifts for both."""

LONG_STEP_MS = 100.0
"""A step this long cannot gain 5 %: entering and leaving a function costs a few ms at most."""

MAX_FIRST_EXECUTION_S = 20.0
"""A trial traces and compiles the train function once more; where that took longer than this
the first time, it is not done unasked."""

_ONLY_LOOK = (
    keras.callbacks.ProgbarLogger,
    keras.callbacks.History,
    keras.callbacks.CSVLogger,
    keras.callbacks.TensorBoard,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.BackupAndRestore,
    ListeningCallback,
)
"""Callbacks whose batch hooks do not steer training. Others can say so with Keras's own
`async_safe = True`: a callback that may be called late cannot steer."""


class StepsPerExecutionRecommender(ListeningCallback, Director):
    """Measures what each execution costs and recommends `steps_per_execution`.

    After warm-up it runs a few executions of several steps in place of single ones: real steps
    in their real order, so that data, losses and final weights are bit for bit those of a run
    without it; Keras's next calls are answered with their logs. From both lengths it fits
    T(N) = c + h / N and picks the smallest N within 3 % of the floor c. Batch hooks of other
    callbacks see during a trial what they would see with that N.

    Arguments:
        log_dir: the directory that TensorBoard is started on; str or os.PathLike.
        apply: run the rest of this `fit`, and later ones with this callback, at the
            recommended N.
        limit: the largest N to recommend.
        max_execution_s: no execution is to last longer, in seconds.

    Attributes:
        recommendation: after `fit`, a `StepsPerExecution`: `.steps_per_execution`,
            `.predicted_speedup` with `.low` and `.high`, `.reason`, `.evidence`.

    Raises:
        TypeError, ValueError, OSError: a wrong argument, or `log_dir` cannot be written.

    It does not try, and says why, where that could change training or could not pay: a callback
    with batch hooks that may steer training, `run_eagerly`, an epoch too short, long steps,
    a train function that took long to compile, several workers.

    >>> import keras_perf as kp
    >>> recommender = kp.StepsPerExecutionRecommender("logs/run1", limit=64)
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        apply: bool = False,
        limit: int = 256,
        max_execution_s: float = 1.0,
    ) -> None:
        super().__init__(log_dir)
        self.apply = require_bool("apply", apply)
        remedy = "To forbid any change, leave StepsPerExecutionRecommender out."
        self.limit = int(require_number("limit", limit, above=0, remedy=remedy))
        self.max_execution_s = require_number(
            "max_execution_s", max_execution_s, above=0, remedy="The default is 1.0."
        )
        self.recommendation: StepsPerExecution | None = None
        self._forget()

    def _forget(self) -> None:
        self._refusal: str | None = None
        self._finished = False
        self._trial_steps = 0
        self._since_trial = self._trials = 0
        self._first_ns = 0
        self._few_ms: deque[float] = deque(maxlen=TRIALS * BETWEEN)
        self._host_ms: deque[float] = deque(maxlen=TRIALS * BETWEEN)
        self._many_ms: list[float] = []
        self._functions: dict[int, TrainFunction] = {}

    # -- during training -----------------------------------------------------------------

    def observation_begins(self, observation: Observation) -> None:
        """Checks what can be checked before the first step."""
        known = self.recommendation
        self._forget()
        if self.apply and known is not None and known.evidence:
            self._finished = True
        else:
            self._refusal = self._reason_not_to_try(observation)

    def executions(self, executions: Sequence[Execution]) -> None:
        """Collects times of both lengths."""
        if self._finished:
            return
        if not self._first_ns:
            self._first_ns = executions[0].inside_ns
        for execution in executions:
            if execution.kind is Kind.TRIAL:
                self._many_ms.append(execution.inside_ns / 1e6)
            elif execution.kind is Kind.STEADY:
                self._few_ms.append(execution.inside_ns / 1e6)
                self._host_ms.append(execution.host_ns / 1e6)

    def direct(self, plan: Plan) -> Plan:
        """Puts a trial, or once applied an execution of the recommended length, in its place."""
        if plan.kind is not Kind.STEADY:
            return plan
        if self._finished:
            return self._applied(plan)
        self._since_trial += 1
        if self._since_trial <= BETWEEN:
            return plan
        if self._trials > TRIALS:
            self._conclude()
            return plan
        steps = self._trial_steps or self._choose_trial_steps(plan)
        if self._refusal is not None:
            self._stop_directing()
        if not steps or not self._fits(steps):
            return plan
        self._trial_steps = steps
        self._since_trial = 0
        self._trials += 1
        return self._longer(plan, steps, Kind.TRIAL)

    def _stop_directing(self) -> None:
        assert self.observation is not None
        self.observation.stop_directing(self)

    def _choose_trial_steps(self, plan: Plan) -> int:
        """Steps of a trial, 0 while or if there is none to be made."""
        observation = self.observation
        assert observation is not None
        if self._refusal is not None or observation.epoch_steps is None:
            return 0
        observation.tell_executions()
        if not self._few_ms:
            return 0
        step_ms = median(self._few_ms) / plan.steps
        if step_ms > LONG_STEP_MS:
            self._refusal = f"steps of {step_ms:.0f} ms are too long for the cost per execution"
        elif self._first_ns > MAX_FIRST_EXECUTION_S * 1e9:
            self._refusal = (
                f"the first execution took {self._first_ns / 1e9:.0f} s to trace and compile, "
                "which a trial would have to do again"
            )
        else:
            for factor in (16, 8, 4, 2):
                steps = factor * plan.steps
                if steps <= observation.epoch_steps // 3 and steps * step_ms < 1e3:
                    return steps
            self._refusal = f"an epoch of {observation.epoch_steps} steps is too short to try"
        return 0

    def _fits(self, steps: int) -> bool:
        """So many steps are left in the epoch."""
        observation = self.observation
        assert observation is not None
        return observation.batch + steps <= (observation.epoch_steps or 0)

    def _longer(self, plan: Plan, steps: int, kind: Kind) -> Plan:
        function = self._function(steps)
        return plan._replace(
            function=function, steps=steps, kind=kind, answers=steps // plan.steps - 1
        )

    def _function(self, steps: int) -> TrainFunction:
        """Keras's own train function for so many steps per execution."""
        assert self.observation is not None
        if steps not in self._functions:
            model = self.observation.model
            current, usual = model.train_function, model.steps_per_execution

            def at_that_length(iterator: Any) -> Any:
                # Keras reads the attribute when the function is traced, at its first call.
                model.steps_per_execution = steps
                try:
                    return run(iterator)
                finally:
                    model.steps_per_execution = usual

            try:
                model.steps_per_execution = steps
                model.make_train_function(force=True)
                run = model.train_function
            finally:
                model.steps_per_execution = usual
                model.train_function = current
            self._functions[steps] = at_that_length
        return self._functions[steps]

    def _applied(self, plan: Plan) -> Plan:
        chosen = self.recommendation.steps_per_execution if self.recommendation else 1
        chosen -= chosen % plan.steps
        if self.apply and chosen > plan.steps and self._fits(chosen):
            return self._longer(plan, chosen, Kind.STEADY)
        return plan

    # -- at the end ----------------------------------------------------------------------

    def _reason_not_to_try(self, observation: Observation) -> str | None:
        model = observation.model
        if model.run_eagerly:
            return "run_eagerly=True runs every step from Python"
        if isinstance(model.distribute_strategy, tf.distribute.MultiWorkerMirroredStrategy):
            return "several workers would have to try at the same steps"
        if type(model).make_train_function is not keras.Model.make_train_function:
            return f"{type(model).__name__} has a make_train_function of its own"
        if optimizer_iterations(model) is None:
            return "the model's optimizer does not count its steps"
        for callback, owner in observation.batch_hooks:
            if not isinstance(callback, _ONLY_LOOK) and not getattr(callback, "async_safe", False):
                return (
                    f"{owner} may steer training step by step; if it only looks, say so with "
                    "async_safe = True on the callback"
                )
        return None

    def _conclude(self) -> None:
        observation = self.observation
        assert observation is not None
        observation.tell_executions()
        self._finished = True
        if not self.apply:
            self._stop_directing()
        few, many = observation.steps_per_execution, self._trial_steps
        # The first trial has traced and compiled.
        many_ms = self._many_ms[1:]
        few_ms, host_ms = list(self._few_ms), median(self._host_ms)
        curve = fit_curve(few_ms, few, many_ms, many, host_ms)
        self.recommendation = recommend(
            curve,
            resampled_curves(few_ms, few, many_ms, many, host_ms),
            few,
            limit=min(self.limit, observation.epoch_steps or self.limit),
            max_execution_s=self.max_execution_s,
        )
        self.recommendation.evidence.update(trial_steps=many, trials=len(many_ms), host_ms=host_ms)
        observation.dispatch_ns = max(0, round((curve.per_execution_ms - host_ms) * 1e6))

    def observation_ends(self, aborted: bool) -> None:
        """Leaves a recommendation, if only the reason why there is none."""
        observation = self.observation
        assert observation is not None
        if not self._finished and len(self._many_ms) > 3:
            self._conclude()
        if not self._finished:
            current = observation.steps_per_execution
            why = self._refusal or "too few steps after warm-up to try another number"
            self.recommendation = StepsPerExecution(
                current, 1.0, 1.0, 1.0, f"not tried: {why}.", {}
            )
        self._functions.clear()
        assert self.recommendation is not None
        record = self.recommendation
        observation.recording.context["steps_per_execution_trial"] = {
            "recommended": record.steps_per_execution,
            "predicted_speedup": record.predicted_speedup,
            "low": record.low,
            "high": record.high,
            "reason": record.reason,
            "applied": self.apply and self._finished,
            "evidence": record.evidence,
        }
        super().observation_ends(aborted)
