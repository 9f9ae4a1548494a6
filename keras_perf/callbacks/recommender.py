"""StepsPerExecutionRecommender."""

from __future__ import annotations

import logging
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import keras

from keras_perf.callbacks.listener import Director, Plan
from keras_perf.callbacks.listening import ListeningCallback, require_bool, require_number
from keras_perf.callbacks.observation import Observation
from keras_perf.callbacks.trial_conditions import called_less_often, reason_not_to_try
from keras_perf.observers.cost_curve import CostCurve, fit_curve, resampled_curves
from keras_perf.observers.schedule import require_int
from keras_perf.observers.steps_choice import Bounds, StepsPerExecution, recommend
from keras_perf.records.execution import Execution, Kind
from keras_perf.report.cost_curve import curve_markdown, recommendation_scalars
from keras_perf.trials.train_function import TrainFunctionAt

logger = logging.getLogger("keras_perf")

TRIALS = 5
"""Executions of each other length that are measured."""

RUN_UP = 1
"""Executions of the other length right before each measured one: after another function caches
are cold, and the first also compiles."""

BETWEEN = 4
"""Ordinary executions before each trial, so that a drifting machine drifts for both."""

FACTORS = (32, 16, 8, 4, 2)
"""Lengths to try, as multiples of the present one: the longest that fits, and a quarter of it."""

CHEAP_TRACE_S = 2.0
"""Where the first execution took longer to trace and compile, one other length has to do."""

LONG_STEP_MS = 100.0
"""A step this long cannot gain 5 %: entering and leaving a function costs a few ms at most."""

LONG_TRIAL_MS = 500.0
"""No trial is meant to take longer."""

SMALL_COST_S = 5.0
COST_SHARE = 0.1
"""Tracing and compiling for the trials may take so many seconds, or this share of the time that
training has left."""


def _nothing() -> None:
    """In place of a reference to a model."""


class StepsPerExecutionRecommender(ListeningCallback, Director):
    """Measures what each execution costs and recommends `steps_per_execution`.

    After warm-up it runs a few executions of several steps in place of single ones: real steps
    in their real order, so that data, losses and final weights are bit for bit those of a run
    without it; Keras's next calls are answered with their logs. From the lengths it fits
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
    a train function that takes long to compile against the steps left, several replicas
    or workers.

    What it cannot see: with `apply`, the steps at an epoch's end that are fewer than N run as
    they would without it, one execution of the old length after the other.

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
        self.limit = require_int("limit", limit, 1, f" {remedy}")
        self.max_execution_s = require_number(
            "max_execution_s", max_execution_s, above=0, remedy="The default is 1.0."
        )
        self.recommendation: StepsPerExecution | None = None
        self._measured_on: Callable[[], keras.Model | None] = _nothing
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        """What can be pickled: not the reference to a model."""
        return {**self.__dict__, "_measured_on": _nothing}

    def _forget(self) -> None:
        self._refusal: str | None = None
        self._finished = False
        self._lengths: tuple[int, ...] = ()
        self._since_trial = self._trials = 0
        self._first_ns = self._trial_ns = 0
        self._few_ms: deque[float] = deque(maxlen=2 * TRIALS * BETWEEN)
        self._host_ms: deque[float] = deque(maxlen=2 * TRIALS * BETWEEN)
        self._many_ms: dict[int, list[float]] = {}
        self._functions: dict[int, TrainFunctionAt] = {}

    # -- during training -----------------------------------------------------------------

    def observation_begins(self, observation: Observation) -> None:
        """Checks what can be checked before the first step."""
        known, model = self.recommendation, self._measured_on()
        self._forget()
        self._refusal = reason_not_to_try(observation)
        if self._refusal is not None:
            observation.stop_directing(self)
        elif self.apply and known is not None and known.evidence and model is observation.model:
            self._finished = True

    def executions(self, executions: Sequence[Execution]) -> None:
        """Collects times of all lengths."""
        if self._finished:
            return
        if not self._first_ns:
            self._first_ns = executions[0].inside_ns
        for execution in executions:
            inside_ms = execution.inside_ns / 1e6
            if execution.kind is Kind.TRIAL:
                self._trial_ns += execution.inside_ns
                self._many_ms.setdefault(execution.steps, []).append(inside_ms)
            elif execution.kind is Kind.STEADY:
                self._few_ms.append(inside_ms)
                self._host_ms.append(execution.host_ns / 1e6)

    def direct(self, plan: Plan) -> Plan:
        """Puts a trial, or once applied an execution of the recommended length, in its place."""
        if plan.kind is not Kind.STEADY:
            return plan
        if self._finished:
            return self._applied(plan)
        self._since_trial += 1
        running_up = self._trials % (1 + RUN_UP) > 0
        if self._since_trial <= BETWEEN and not running_up:
            return plan
        trials = self._trials // (1 + RUN_UP)
        if self._lengths and trials >= TRIALS * len(self._lengths):
            self._conclude()
            return plan
        self._lengths = self._lengths or self._choose_lengths(plan)
        if self._refusal is not None:
            self._stop_directing()
        if not self._lengths:
            return plan
        steps = self._lengths[trials % len(self._lengths)]
        room = steps if running_up else steps * (1 + RUN_UP)
        if not self._fits(room) or not self._prepared(steps):
            return plan
        self._since_trial = 0
        self._trials += 1
        return self._longer(plan, steps, Kind.TRIAL)

    def _stop_directing(self) -> None:
        assert self.observation is not None
        self.observation.stop_directing(self)

    def _choose_lengths(self, plan: Plan) -> tuple[int, ...]:
        """Steps of the trials; none while or if there are none to be made."""
        observation = self.observation
        assert observation is not None
        if self._refusal is not None or observation.epoch_steps is None:
            return ()
        observation.tell_executions()
        if not self._few_ms:
            return ()
        step_ms = median(self._few_ms) / plan.steps
        longest_ms = min(LONG_TRIAL_MS, self.max_execution_s * 1e3)
        room = min(observation.epoch_steps // 3, longest_ms / step_ms)
        fitting = [f * plan.steps for f in FACTORS if f * plan.steps <= room]
        first_s = self._first_ns / 1e9
        lengths = fitting[:1] if first_s > CHEAP_TRACE_S else fitting[:3:2]
        cost_s = first_s * len(lengths)
        if step_ms > LONG_STEP_MS:
            self._refusal = f"steps of {step_ms:.0f} ms are too long for the cost per execution"
        elif not lengths:
            self._refusal = f"an epoch of {observation.epoch_steps} steps is too short to try"
        elif cost_s > max(SMALL_COST_S, COST_SHARE * self._seconds_left(step_ms)):
            self._refusal = (
                f"the first execution took {first_s:.0f} s to trace and compile; to do that "
                "again would not pay in the steps that are left"
            )
        return () if self._refusal is not None else tuple(sorted(lengths))

    def _seconds_left(self, step_ms: float) -> float:
        observation = self.observation
        assert observation is not None
        steps = (observation.epochs or 1) * (observation.epoch_steps or 0)
        return max(0, steps - (observation.step - observation.first_step)) * step_ms / 1e3

    def _fits(self, steps: int) -> bool:
        """So many steps are left in the epoch."""
        observation = self.observation
        assert observation is not None
        whole = observation.batch + steps <= (observation.epoch_steps or 0)
        return whole and not observation.epochs_differ

    def _longer(self, plan: Plan, steps: int, kind: Kind) -> Plan:
        function = self._functions[steps].run
        return plan._replace(
            function=function, steps=steps, kind=kind, answers=steps // plan.steps - 1
        )

    def _prepared(self, steps: int) -> bool:
        """The function for so many steps is there, traced ahead; if it cannot be, why not."""
        observation = self.observation
        assert observation is not None
        assert observation.pipeline is not None
        if steps not in self._functions:
            try:
                function = TrainFunctionAt(observation.model, steps)
                function.trace(observation.pipeline.iterator)
            except Exception as error:  # noqa: BLE001  monitoring never kills training
                self._refusal = f"tracing the train function again failed ({error!r})"
                self._stop_directing()
                return False
            if function.draws_random_numbers:
                self._refusal = (
                    "the train step draws tf.random numbers, whose sequence a second function "
                    "would not continue; keras.random continues it"
                )
                self._stop_directing()
                return False
            self._functions[steps] = function
        return True

    def _applied(self, plan: Plan) -> Plan:
        chosen = self.recommendation.steps_per_execution if self.recommendation else 1
        chosen -= chosen % plan.steps
        fits = self.apply and chosen > plan.steps and self._fits(chosen)
        if fits and self._prepared(chosen):
            return self._longer(plan, chosen, Kind.STEADY)
        return plan

    # -- at the end ----------------------------------------------------------------------

    def _enough_trials(self) -> bool:
        """Training ended before all trials were made, but there are some of each length."""
        counts = [len(self._many_ms.get(n, ())) // (1 + RUN_UP) for n in self._lengths]
        return bool(counts) and min(counts) >= 2

    def _conclude(self) -> None:
        observation = self.observation
        assert observation is not None
        observation.tell_executions()
        self._finished = True
        if not self.apply:
            self._stop_directing()
        few = observation.steps_per_execution
        host_ms = median(self._host_ms)
        every = 1 + RUN_UP
        samples = {n: found[RUN_UP::every] for n, found in self._many_ms.items()}
        samples[few] = list(self._few_ms)
        curve = fit_curve(samples, host_ms)
        bounds = Bounds(
            self.limit,
            self.max_execution_s,
            observation.epoch_steps,
            observation.whole_executions,
        )
        record = recommend(curve, resampled_curves(samples, host_ms), few, bounds)
        record.evidence.update(
            trials={n: median(found) / n for n, found in sorted(samples.items())},
            trial_executions=sum(map(len, self._many_ms.values())),
            extra_traces=len(self._many_ms),
            trial_s=self._trial_ns / 1e9,
            host_ms=host_ms,
        )
        if record.steps_per_execution > few:
            record = replace(record, reason=record.reason + self._about_callbacks(record))
        self.recommendation = record
        self._measured_on = weakref.ref(observation.model)
        observation.dispatch_ns = max(0, round((curve.per_execution_ms - host_ms) * 1e6))
        self._write(curve, record)

    def _about_callbacks(self, record: StepsPerExecution) -> str:
        """Which of the user's callbacks would be called less often."""
        assert self.observation is not None
        hooks = called_less_often(self.observation)
        record.evidence["called_less_often"] = hooks
        if not hooks:
            return ""
        return f" Called once per {record.steps_per_execution} steps then: {', '.join(hooks)}."

    def _write(self, curve: CostCurve, record: StepsPerExecution) -> None:
        """What was found as scalars, and the curve as a table."""
        assert self.observation is not None
        step = self.observation.step
        self.writer.scalars(step, recommendation_scalars(curve, record), time.time())
        self.writer.text(step, "perf/steps_per_execution", curve_markdown(curve, record))

    def leaves(self, aborted: bool) -> None:
        """Leaves a recommendation, if only the reason why there is none."""
        observation = self.observation
        assert observation is not None
        if not self._finished and self._enough_trials():
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
